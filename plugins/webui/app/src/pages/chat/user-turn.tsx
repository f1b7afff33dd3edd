import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Chat } from "../../chat/library";
import { Copy } from "../../chat/markdown/code";
import type { Turn } from "../../chat/model";
import { say } from "../../chat/running";
import { textOf } from "../../chat/tree";
import { Button } from "../../parts/button";
import { Branches } from "./branches";

interface Props {
  readonly chat: Chat;
  readonly turn: Turn;
}

export function UserTurn({ chat, turn }: Props) {
  const editing = useSignal(false);
  return (
    <article class="turn user" data-turn={turn.id}>
      <h3 class="unseen">You said</h3>
      {editing.value ? (
        <Editor
          chat={chat}
          turn={turn}
          close={() => {
            editing.value = false;
          }}
        />
      ) : (
        <>
          <div class="bubble">
            {turn.parts.map((part, place) =>
              part.kind === "image" ? <img key={place} src={part.url} alt={part.name} /> : null,
            )}
            <p class="said">{textOf(turn.parts)}</p>
          </div>
          <div class="actions">
            <Branches chat={chat} turn={turn} />
            <Copy text={textOf(turn.parts)} label="Copy message" />
            <Button
              kind="plain"
              icon="edit"
              label="Edit message"
              disabled={chat.running.value !== null}
              onClick={() => {
                editing.value = true;
              }}
            />
          </div>
        </>
      )}
    </article>
  );
}

/** Changes what was said in a branch of its own; what was there stays. */
function Editor({ chat, turn, close }: Props & { close: () => void }) {
  const text = useSignal(textOf(turn.parts));
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => area.current?.focus(), []);
  const send = (event: Event) => {
    event.preventDefault();
    const pictures = turn.parts.filter((part) => part.kind === "image");
    if (!text.value.trim() && !pictures.length) return;
    close();
    void say(chat, [...pictures, { kind: "text", text: text.value }], turn.parent);
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      close();
    } else if (event.key === "Enter" && !event.shiftKey && !event.isComposing) send(event);
  };
  return (
    <form class="editor stack" onSubmit={send}>
      <label class="unseen" for={`edit-${turn.id}`}>
        Edited message
      </label>
      <textarea
        id={`edit-${turn.id}`}
        ref={area}
        rows={4}
        value={text.value}
        onInput={(event) => {
          text.value = event.currentTarget.value;
        }}
        onKeyDown={press}
      />
      <div class="row end">
        <Button onClick={close}>Cancel</Button>
        <button type="submit" class="primary">
          Send as a branch
        </button>
      </div>
    </form>
  );
}
