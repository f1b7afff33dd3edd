import { cardOf } from "../../chat/cards";
import type { Chat } from "../../chat/library";
import type { Options, Thinking } from "../../chat/model";
import { builtInTools, toolsOf } from "../../chat/tools";
import { Button } from "../../parts/button";
import { Check, Select, TextField } from "../../parts/field";
import { Adapters } from "./adapters";
import { setOptions } from "./header";
import { SamplingFields } from "./sampling-fields";
import { useView } from "./view";

export interface OptionsPart {
  readonly options: Options;
  readonly set: (some: Partial<Options>) => void;
}

/** What is asked along with the messages of this conversation. */
export function OptionsPanel({ chat }: { chat: Chat }) {
  const { panel } = useView();
  const { options } = chat.state.value;
  const part: OptionsPart = { options, set: (some) => setOptions(chat, some) };
  return (
    <aside class="panel" aria-label="Options">
      <header>
        <h2>Options</h2>
        <Button
          kind="plain"
          icon="close"
          label="Close options"
          onClick={() => {
            panel.value = "none";
          }}
        />
      </header>
      <div class="stack">
        <TextField
          label="System prompt"
          rows={4}
          value={options.system}
          onInput={(system) => part.set({ system })}
          placeholder="Who the model is, and how it answers"
        />
        <ThinkingField {...part} />
        <SamplingFields {...part} />
        <Adapters {...part} />
        <Tools {...part} />
        <TextField
          label="Answer as JSON of this schema"
          hint="A JSON schema; empty for free text."
          error={faultOf(options.schema)}
          rows={4}
          mono
          value={options.schema}
          onInput={(schema) => part.set({ schema })}
          placeholder={'{"type": "object", …}'}
        />
        <TextField
          label="Further fields"
          hint="A JSON object whose fields go into every request."
          error={faultOf(options.fields)}
          rows={3}
          mono
          value={options.fields}
          onInput={(fields) => part.set({ fields })}
          placeholder={'{"logit_bias": {…}}'}
        />
      </div>
    </aside>
  );
}

function ThinkingField({ options, set }: OptionsPart) {
  const card = cardOf(options.model);
  return (
    <Select
      label="Thinking"
      disabled={card?.reasoning === false}
      hint={card?.reasoning === false ? "This model does not think." : undefined}
      value={options.thinking}
      options={[
        ["default", "As the model does by itself"],
        ["on", "On"],
        ["off", "Off"],
      ]}
      onChange={(thinking) => set({ thinking: thinking as Thinking })}
    />
  );
}

function Tools({ options, set }: OptionsPart) {
  const card = cardOf(options.model);
  return (
    <fieldset>
      <legend>Tools</legend>
      {card?.tools === false && <p class="hint">This model does not call tools.</p>}
      {builtInTools.map((tool) => (
        <Check
          key={tool.name}
          label={`${tool.name} (runs in this browser)`}
          checked={options.builtIn.includes(tool.name)}
          onChange={(on) =>
            set({
              builtIn: on
                ? [...options.builtIn, tool.name]
                : options.builtIn.filter((one) => one !== tool.name),
            })
          }
        />
      ))}
      <TextField
        label="Tools of your own"
        hint="A JSON list; you type what they answer."
        error={faultOf(options.ownTools, toolsOf)}
        rows={4}
        mono
        value={options.ownTools}
        onInput={(ownTools) => set({ ownTools })}
        placeholder={'[{"name": "…", "description": "…", "parameters": {…}}]'}
      />
    </fieldset>
  );
}

/** Say what is wrong with JSON that is not empty. */
function faultOf(json: string, read: (json: string) => unknown = JSON.parse): string | undefined {
  if (!json.trim()) return undefined;
  try {
    read(json);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
