/** Datasets: `datasets` lists them, `datasets/new` imports, `.../generate` has one written, `.../set/<name>` shows one. */

import { counts, origin } from "./card.js";
import { generateOf } from "./generate.js";
import { importOf } from "./import.js";
import { datasetOf } from "./set.js";

export default function datasetsOf(kit) {
  const { html, app, Table, format } = kit;
  const Import = importOf(kit);
  const Generate = generateOf(kit);
  const Dataset = datasetOf(kit);

  const COLUMNS = [
    {
      title: "Dataset",
      cell: (card) => html`<a href=${kit.address("datasets", "set", card.name)}>${card.name}</a>`,
    },
    { title: "Form", cell: (card) => card.form ?? html`<span class="error">no good row</span>` },
    { title: "Rows", numeric: true, cell: (card) => counts(card) },
    { title: "Size", numeric: true, cell: (card) => format.bytes(card.size_bytes) },
    { title: "From", cell: (card) => origin(card) },
    { title: "Made", cell: (card) => (card.made_at ? format.ago(card.made_at, Date.now()) : "") },
  ];

  return function Datasets() {
    const [, what, name] = app.rest.value;
    if (!what) return html`<${List} />`;
    const inner =
      what === "new"
        ? html`<${Import} />`
        : what === "generate"
          ? html`<${Generate} />`
          : html`<${Dataset} key=${name} name=${name ?? ""} />`;
    return html`<div class="stack"><p class="back"><a href=${kit.address("datasets")}>All datasets</a></p>${inner}</div>`;
  };

  function List() {
    const writes = kit.useKinds().some(({ name }) => name === "generate");
    const listed = kit.usePolled("/api/datasets", 5);
    return html`
      <div class="stack">
        <header class="row spread">
          <h2>Datasets</h2>
          <p class="row">
            <a class="button" href=${kit.address("datasets", "new")}>Import a file</a>
            ${writes && html`<a class="button" href=${kit.address("datasets", "generate")}>Have one written</a>`}
          </p>
        </header>
        ${listed.problem && html`<p class="hint error">${listed.problem.message}</p>`}
        <${Table} caption="Datasets" rows=${listed.value?.datasets ?? []} rowKey=${(card) => card.name}
          empty=${listed.value ? "No dataset yet." : "…"} columns=${COLUMNS} />
      </div>`;
  }
}
