import { useSignal } from "@preact/signals";
import type { Chat } from "../../chat/library";
import type { CallPart, Turn } from "../../chat/model";
import { giveResult } from "../../chat/running";
import { Check, TextField } from "../../parts/field";
import { Icon } from "../../parts/icon";

interface Props {
  readonly chat: Chat;
  readonly turn: Turn;
  readonly call: CallPart;
  readonly growing: boolean;
}

/** A call: its name, its arguments, and what the tool answered or a place to type it in. */
export function CallCard({ chat, turn, call, growing }: Props) {
  return (
    <section class="call card" aria-label={`Call of ${call.name}`}>
      <h4>
        <Icon name="tool" /> {call.name} <State call={call} growing={growing} />
      </h4>
      <pre class="arguments">{pretty(call.arguments)}</pre>
      {call.result !== null && (
        <>
          <p class="hint">{call.failed ? "It failed:" : "Result:"}</p>
          <pre class={call.failed ? "result fault" : "result"}>{call.result}</pre>
        </>
      )}
      {call.result === null && !growing && <ResultForm chat={chat} turn={turn} call={call} />}
    </section>
  );
}

function State({ call, growing }: { call: CallPart; growing: boolean }) {
  if (growing) return <span class="badge">being written</span>;
  if (call.result === null) return <span class="badge">waits for a result</span>;
  return call.failed ? <span class="badge bad">failed</span> : <span class="badge on">done</span>;
}

function ResultForm({ chat, turn, call }: Omit<Props, "growing">) {
  const text = useSignal("");
  const failed = useSignal(false);
  const send = (event: Event) => {
    event.preventDefault();
    void giveResult(chat, turn.id, { ...call, result: text.value, failed: failed.value });
  };
  return (
    <form class="stack" onSubmit={send}>
      <TextField
        label={`Result of ${call.name}`}
        hint="What the tool would answer. The conversation goes on once every call has a result."
        rows={2}
        mono
        value={text.value}
        onInput={(value) => {
          text.value = value;
        }}
      />
      <div class="row">
        <Check
          label="The call failed"
          checked={failed.value}
          onChange={(on) => {
            failed.value = on;
          }}
        />
        <button type="submit" class="primary" disabled={chat.running.value !== null}>
          Send result
        </button>
      </div>
    </form>
  );
}

function pretty(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}
