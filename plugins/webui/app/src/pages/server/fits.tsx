import { useState } from "preact/hooks";
import type { Fit, ModelCard, SkuFit } from "../../api/answers";
import { usePolled } from "../../api/polled";
import { type Column, format, Select, Table } from "../../parts";

const SELDOM_S = 600;

/** How a model of this server would fit Apple's computers. */
export function Fits({ models }: { readonly models: readonly ModelCard[] }) {
  const [chosen, setChosen] = useState<string>();
  const model = chosen ?? models[0]?.id;
  const fit = usePolled<Fit>(
    model === undefined ? null : `/fit?model=${encodeURIComponent(model)}`,
    SELDOM_S,
  );
  return (
    <section aria-label="Fit">
      <h2>Will it fit elsewhere</h2>
      {fit.problem && <p class="hint">{fit.problem.message}</p>}
      {fit.value && (
        <>
          <p class="hint">
            This machine: {fit.value.machine.chip}, {format.bytes(fit.value.machine.ram_bytes)},{" "}
            {fit.value.machine.backend}. Below: Apple's computers with one answer of{" "}
            {fit.value.sku_matrix_ctx.toLocaleString("en")} tokens, predicted.
          </p>
          {models.length > 1 && (
            <Select
              label="Model"
              value={model ?? ""}
              options={models.map((each) => [each.id, each.id])}
              onChange={setChosen}
            />
          )}
          <div class="tall">
            <Table
              caption="Fit on Apple's computers"
              columns={COLUMNS}
              rows={fit.value.sku_matrix}
              rowKey={(row) => `${row.sku} ${row.ram_gb}`}
            />
          </div>
        </>
      )}
    </section>
  );
}

const COLUMNS: Column<SkuFit>[] = [
  { title: "Computer", cell: (row) => row.sku },
  { title: "Memory", numeric: true, cell: (row) => `${row.ram_gb} GB` },
  {
    title: "Fits",
    cell: (row) => <span class={row.fits ? "badge on" : "badge bad"}>{row.fits ? "yes" : "no"}</span>,
  },
  { title: "Longest context", numeric: true, cell: (row) => format.count(row.max_context) },
  { title: "Tokens/s", numeric: true, cell: (row) => format.count(row.decode_tps) },
];
