import type { Chat } from "../../chat/library";
import { Copy } from "../../chat/markdown/code";
import { Markdown } from "../../chat/markdown/markdown";
import type { Part, Turn } from "../../chat/model";
import { proceed, respond } from "../../chat/running";
import { textOf } from "../../chat/tree";
import { Button } from "../../parts/button";
import { Branches } from "./branches";
import { CallCard } from "./call-card";
import { Facts } from "./facts";
import { Thought } from "./thought";
import { useView } from "./view";

interface Props {
  readonly chat: Chat;
  readonly turn: Turn;
  /** Whether it is being written now. */
  readonly writing: boolean;
}

export function AnswerTurn({ chat, turn, writing }: Props) {
  const last = turn.parts.length - 1;
  return (
    <article class="turn answer" data-turn={turn.id} aria-busy={writing}>
      <h3 class="unseen">{turn.report?.model || "The model"} answered</h3>
      {turn.parts.map((part, place) => (
        <Shown key={place} chat={chat} turn={turn} part={part} growing={writing && place === last} />
      ))}
      {writing && <p class="waiting">{turn.parts.length ? "" : "Reading…"}</p>}
      {turn.fault && (
        <p class="fault" role="alert">
          {turn.fault}
        </p>
      )}
      {turn.report?.warnings.map((warning) => (
        <p key={warning} class="hint">
          {warning}
        </p>
      ))}
      {!writing && <Facts turn={turn} />}
      {!writing && <Actions chat={chat} turn={turn} />}
    </article>
  );
}

interface ShownProps {
  readonly chat: Chat;
  readonly turn: Turn;
  readonly part: Part;
  readonly growing: boolean;
}

function Shown({ chat, turn, part, growing }: ShownProps) {
  switch (part.kind) {
    case "text":
      return <Markdown text={part.text} growing={growing} />;
    case "thought":
      return <Thought part={part} growing={growing} />;
    case "call":
      return <CallCard chat={chat} turn={turn} call={part} growing={growing} />;
    default:
      return null;
  }
}

function Actions({ chat, turn }: { chat: Chat; turn: Turn }) {
  const { panel, inspected } = useView();
  const busy = chat.running.value !== null;
  const isLast = chat.state.value.leaf === turn.id;
  const canProceed = isLast && turn.parts.at(-1)?.kind === "text";
  const inspect = () => {
    inspected.value = turn.id;
    panel.value = "inspector";
  };
  return (
    <div class="actions">
      <Branches chat={chat} turn={turn} />
      <Copy text={textOf(turn.parts)} label="Copy answer" />
      <Button
        kind="plain"
        icon="again"
        label="Regenerate"
        disabled={busy || turn.parent === null}
        onClick={() => turn.parent !== null && void respond(chat, turn.parent)}
      />
      {canProceed && (
        <Button
          kind="plain"
          icon="forward"
          label="Continue"
          disabled={busy}
          onClick={() => void proceed(chat, turn.id)}
        />
      )}
      <Button kind="plain" icon="code" label="Inspect" onClick={inspect} />
    </div>
  );
}
