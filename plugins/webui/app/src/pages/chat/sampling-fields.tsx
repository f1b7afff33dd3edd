import { type Card, cardOf, type Drawing } from "../../chat/cards";
import { type Options, PLAIN } from "../../chat/model";
import { wireOf } from "../../chat/wire";
import type { Lacking } from "../../chat/wire/wire";
import { Button } from "../../parts/button";
import { NumberField } from "../../parts/field";

type Numeric = "temperature" | "topP" | "topK" | "minP" | "repetitionPenalty" | "maxTokens" | "seed";

interface Described {
  readonly name: Numeric;
  readonly label: string;
  readonly min: number;
  readonly max?: number;
  readonly step: number;
  /** Its name among the model's own defaults, and what holds where the model says nothing. */
  readonly own?: keyof Drawing;
  readonly otherwise: string;
}

const FIELDS: readonly Described[] = [
  {
    name: "temperature",
    label: "Temperature",
    min: 0,
    max: 2,
    step: 0.05,
    own: "temperature",
    otherwise: "1",
  },
  { name: "topP", label: "Top p", min: 0, max: 1, step: 0.01, own: "top_p", otherwise: "off" },
  { name: "topK", label: "Top k", min: 0, step: 1, own: "top_k", otherwise: "off" },
  { name: "minP", label: "Min p", min: 0, max: 1, step: 0.01, own: "min_p", otherwise: "off" },
  {
    name: "repetitionPenalty",
    label: "Repetition",
    min: 0.01,
    step: 0.05,
    own: "repetition_penalty",
    otherwise: "off",
  },
  { name: "maxTokens", label: "Most tokens", min: 1, step: 1, otherwise: "the server's" },
  { name: "seed", label: "Seed", min: 0, step: 1, otherwise: "drawn" },
];

interface Props {
  readonly options: Options;
  readonly set: (some: Partial<Options>) => void;
}

/** Numbers of a request; an empty one shows in grey what will be used, and who says so. */
export function SamplingFields({ options, set }: Props) {
  const card = cardOf(options.model);
  const wire = wireOf(options.protocol);
  const reset = () => set(Object.fromEntries(FIELDS.map(({ name }) => [name, PLAIN[name]])));
  return (
    <fieldset>
      <legend>Sampling</legend>
      <div class="numbers">
        {FIELDS.map(({ name, label, own, otherwise, ...range }) => {
          const lacking = wire.lacks.includes(name as Lacking);
          return (
            <NumberField
              key={name}
              label={label}
              {...range}
              disabled={lacking}
              hint={lacking ? `${wire.title} has no such field.` : undefined}
              placeholder={own && card ? usual(card, own, otherwise) : otherwise}
              value={options[name]}
              onInput={(value) => set({ [name]: value })}
            />
          );
        })}
      </div>
      <Button kind="plain" icon="again" onClick={reset}>
        The model's own
      </Button>
    </fieldset>
  );
}

/** What is used where a request does not say. */
function usual(card: Card, own: keyof Drawing, off: string): string {
  const value = card.usual[own];
  const nothing = own === "repetition_penalty" ? 1 : 0;
  if (value === null || (value === nothing && own !== "temperature")) return off;
  return `${value} (${value === card.defaults[own] ? "model" : "server"})`;
}
