import type { EndedChoice } from "../../api/answers";
import { Dialog, format, Meter } from "../../parts";
import { CAUSES } from "./causes";
import { Replay } from "./replay";
import { speed } from "./speed";

/** Everything that is known of a request that ended; texts are not kept. */
export function EndedDialog({
  choices,
  onClose,
}: {
  readonly choices: readonly EndedChoice[];
  readonly onClose: () => void;
}) {
  return (
    <Dialog title={choices[0]?.id ?? ""} onClose={onClose} wide>
      <div class="stack">
        <Replay id={choices[0]?.id ?? ""} />
        {choices.map((choice) => (
          <Ended key={choice.choice} choice={choice} several={choices.length > 1} />
        ))}
      </div>
    </Dialog>
  );
}

function Ended({ choice, several }: { readonly choice: EndedChoice; readonly several: boolean }) {
  const spent: [string, number][] = [
    ["waiting", choice.queued_s],
    ["reading", choice.prefill_s],
    ["answering", choice.decode_s],
  ];
  const facts: [string, string][] = [
    ["Model", choice.model],
    ["API", choice.protocol || "a plugin"],
    ["Ended", `${new Date(choice.ended_at).toLocaleString()}, ${choice.reason}`],
    ["Prompt", `${choice.prompt_tokens} tokens, ${choice.cached_tokens} of them from the cache`],
    ["Answer", `${choice.completion_tokens} tokens, ${choice.thinking_tokens} of them thinking`],
    ["Speed", speed(choice)],
    ["Seed", String(choice.seed)],
  ];
  if (choice.cause) facts.splice(4, 0, ["Prompt cache", CAUSES[choice.cause]]);
  if (choice.adapters.length > 0) facts.push(["Adapters", choice.adapters.join(", ")]);
  return (
    <article>
      {several && <h3>Choice {choice.choice}</h3>}
      {choice.error && <p class="hint error">{choice.error}</p>}
      <dl class="facts">
        {facts.map(([name, value]) => [<dt key={name}>{name}</dt>, <dd key={`${name}=`}>{value}</dd>])}
      </dl>
      <Meter
        label="Time"
        totalText={format.seconds(spent.reduce((sum, [, took]) => sum + took, 0))}
        parts={spent.map(([name, value]) => ({ name, value, text: format.seconds(value) }))}
        total={0}
      />
    </article>
  );
}
