import { useState } from "preact/hooks";
import type { SettingInForce } from "../../api/answers";
import { usePolled } from "../../api/polled";
import { Check, type Column, Table, TextField } from "../../parts";

const SELDOM_S = 60;

/** Every setting in force, where it came from, and a way to find one. */
export function Settings() {
  const settings = usePolled<{ settings: SettingInForce[] }>("/v1/settings", SELDOM_S);
  const [wanted, setWanted] = useState("");
  const [changed, setChanged] = useState(false);
  const shown = (settings.value?.settings ?? []).filter(
    (each) => each.name.includes(wanted.trim().toLowerCase()) && !(changed && each.layer === "default"),
  );
  return (
    <section aria-label="Settings">
      <h2>Settings in force</h2>
      {settings.problem && <p class="hint error">{settings.problem.message}</p>}
      <div class="row filter">
        <TextField label="Find" value={wanted} onInput={setWanted} placeholder="engine.batch" />
        <Check label="Only what was set" checked={changed} onChange={setChanged} />
      </div>
      <div class="tall">
        <Table
          caption="Settings in force"
          columns={COLUMNS}
          rows={shown}
          rowKey={(row) => row.name}
          empty="No such setting."
        />
      </div>
    </section>
  );
}

const COLUMNS: Column<SettingInForce>[] = [
  { title: "Setting", cell: (row) => <code>{row.name}</code> },
  { title: "Value", cell: (row) => <code>{shownValue(row)}</code> },
  {
    title: "From",
    cell: (row) => (
      <>
        <span class={row.layer === "default" ? "badge" : "badge on"}>{row.layer}</span> {row.source}
      </>
    ),
  },
];

/** As a settings file would say it. */
export function shownValue({ secret, value }: SettingInForce): string {
  if (secret) return "(not shown)";
  if (value === null || value === undefined) return "–";
  return JSON.stringify(value);
}
