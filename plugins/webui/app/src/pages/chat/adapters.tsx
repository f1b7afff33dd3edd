import { useEffect } from "preact/hooks";
import { mount, type OnDisk, onDisk, readAdapters } from "../../chat/adapters";
import { cardOf, readCards } from "../../chat/cards";
import { Button } from "../../parts/button";
import { Check } from "../../parts/field";
import { notify } from "../../shell/notices";
import { pages } from "../list";
import type { OptionsPart } from "./options-panel";

/** The adapters that are mounted, to be chosen, and those on disk, to be mounted. */
export function Adapters({ options, set }: OptionsPart) {
  const card = cardOf(options.model);
  const model = card?.id ?? "";
  useEffect(() => {
    if (model) void readAdapters(model);
  }, [model]);
  const mounted = card?.adapters ?? [];
  const further = onDisk.value.filter((adapter) => !mounted.includes(adapter.id));
  if (!mounted.length && !further.length) return null;
  const choose = (adapter: string, on: boolean) => {
    const others = options.adapters.filter((one) => one !== adapter);
    set({ adapters: on ? [...others, adapter] : others });
  };
  return (
    <fieldset>
      <legend>Adapters</legend>
      {mounted.map((adapter) => (
        <Check
          key={adapter}
          label={adapter}
          checked={options.adapters.includes(adapter)}
          onChange={(on) => choose(adapter, on)}
        />
      ))}
      {further.map((adapter) => (
        <Mountable key={adapter.id} adapter={adapter} model={model} use={() => choose(adapter.id, true)} />
      ))}
      {mounted.length > 0 && pages.value.some(({ id }) => id === "lab") && (
        <p>
          <a href={comparing(model, options.adapters[0] ?? mounted[0] ?? "")}>Compare side by side</a>
        </p>
      )}
    </fieldset>
  );
}

/** Where the lab holds a model and its adapter against each other. */
function comparing(model: string, adapter: string): string {
  return `#/lab/compare?${new URLSearchParams({ model, adapter_b: adapter })}`;
}

interface Props {
  readonly adapter: OnDisk;
  readonly model: string;
  readonly use: () => void;
}

function Mountable({ adapter, model, use }: Props) {
  const take = async () => {
    try {
      await mount(adapter, model);
      await readCards();
      use();
    } catch (error) {
      notify(`${adapter.id}: ${(error as Error).message}`, "error");
    }
  };
  return (
    <div class="row">
      <Button icon="plus" onClick={() => void take()}>
        Mount {adapter.id}
      </Button>
      <span class="hint">{adapter.rank === null ? "" : `rank ${adapter.rank}`}</span>
    </div>
  );
}
