import { cardOf } from "../../chat/cards";
import type { Chat } from "../../chat/library";
import { say } from "../../chat/running";
import { count } from "../../parts/format";

const STARTERS = [
  "What can you do?",
  "Explain how a transformer predicts the next word.",
  "Write a haiku about unified memory.",
  "Show me a Python function that reverses a list, with a test.",
];

/** What is there before anything was said. */
export function Welcome({ chat }: { chat: Chat }) {
  const card = cardOf(chat.state.value.options.model);
  return (
    <div class="welcome">
      <p class="greeting">Ask anything.</p>
      {card && (
        <p class="hint">
          {card.id} answers on this machine, with a context of {count(card.context_window)} tokens. Nothing
          you write leaves the server.
        </p>
      )}
      <ul>
        {STARTERS.map((text) => (
          <li key={text}>
            <button type="button" onClick={() => void say(chat, [{ kind: "text", text }], null)}>
              {text}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
