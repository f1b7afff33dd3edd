import { useEffect } from "preact/hooks";
import type { LibraryModel } from "../../api/answers";
import { usePolled } from "../../api/polled";
import { Button, type Column, copyText, format, Table } from "../../parts";
import { notify } from "../../shell/notices";
import { FitBar } from "./fit";

const SELDOM_S = 15;

/** The models on disk, those of this server first, then the largest. Looks again when one has arrived. */
export function Library({ context, arrived }: { readonly context: number; readonly arrived: number }) {
  const library = usePolled<{ models: LibraryModel[] }>(`/library?context=${context}`, SELDOM_S);
  useEffect(library.again, [arrived]);
  const models = [...(library.value?.models ?? [])].sort(
    (a, b) => Number(b.serving) - Number(a.serving) || b.size_bytes - a.size_bytes,
  );
  return (
    <section aria-label="On disk">
      <h2>On disk</h2>
      {library.problem && <p class="hint error">{library.problem.message}</p>}
      <Table
        caption="Models on disk"
        columns={COLUMNS}
        rows={models}
        rowKey={(model) => model.repo_id}
        empty="No model is on disk yet. Download one above."
      />
    </section>
  );
}

const COLUMNS: Column<LibraryModel>[] = [
  {
    title: "Model",
    cell: (model) => (
      <>
        <span class="name">{model.repo_id}</span> {model.serving && <span class="badge on">on offer</span>}{" "}
        {model.vision && <span class="badge">sees</span>}
      </>
    ),
  },
  {
    title: "Family",
    cell: (model) => model.family ?? <span class="hint">{model.model_type || "unknown"}</span>,
  },
  { title: "Size", numeric: true, cell: (model) => format.bytes(model.size_bytes) },
  { title: "Weights", cell: (model) => packing(model) },
  { title: "Fit", cell: (model) => <Fitting model={model} /> },
  {
    title: "Serve",
    cell: (model) =>
      model.supported && !model.serving ? (
        <Button
          kind="plain"
          icon="copy"
          label={`Copy the command that serves ${model.repo_id}`}
          onClick={() => void copy(`mlxp serve ${model.repo_id}`)}
        />
      ) : null,
  },
];

function Fitting({ model }: { readonly model: LibraryModel }) {
  if (!model.supported) return <span class="hint error">{model.fault ?? "cannot be served"}</span>;
  return model.assessment ? <FitBar report={model.assessment} /> : <span class="hint">not known</span>;
}

function packing(model: LibraryModel): string {
  if (model.quant_bits === null) return "as trained";
  return model.group_size === null
    ? `${model.quant_bits} bits`
    : `${model.quant_bits} bits, groups of ${model.group_size}`;
}

async function copy(text: string): Promise<void> {
  try {
    await copyText(text);
    notify(`Copied: ${text}`);
  } catch (error) {
    notify((error as Error).message, "error");
  }
}
