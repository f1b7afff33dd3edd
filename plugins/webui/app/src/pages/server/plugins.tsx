import type { PluginReport } from "../../api/answers";
import { usePolled } from "../../api/polled";
import { type Column, format, Table } from "../../parts";

const SELDOM_S = 15;
const CLASSES = { on: "badge on", off: "badge", broken: "badge bad" } as const;

/** Every plugin found, and what is wrong with it. */
export function Plugins() {
  const plugins = usePolled<{ plugins: PluginReport[] }>("/v1/plugins", SELDOM_S);
  return (
    <section aria-label="Plugins">
      <h2>Plugins</h2>
      {plugins.problem && <p class="hint error">{plugins.problem.message}</p>}
      <Table
        caption="Plugins found"
        columns={COLUMNS}
        rows={plugins.value?.plugins ?? []}
        rowKey={(row) => `${row.name} ${row.module}`}
      />
    </section>
  );
}

const COLUMNS: Column<PluginReport>[] = [
  { title: "Plugin", cell: (row) => <b>{row.name}</b> },
  { title: "State", cell: (row) => <span class={CLASSES[row.state]}>{row.state}</span> },
  { title: "Package", cell: (row) => `${row.dist} ${row.version}` },
  { title: "Loaded in", numeric: true, cell: (row) => format.seconds(row.load_ms / 1000) },
  { title: "Faults", numeric: true, cell: (row) => row.faults },
  { title: "To repair", cell: (row) => [row.fault, ...row.warnings].filter(Boolean).join("; ") || "–" },
];
