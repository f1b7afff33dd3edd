/** What a generation made: a dataset, and what was left out of it. */

import { parts } from "./rows.js";

export function writtenOf(kit) {
  const { html, Facts } = kit;

  return function Written({ job }) {
    const { name, rows, valid, dropped = {}, examples = [] } = job.result;
    return html`
      <${Facts} facts=${{
        Dataset: name,
        Rows: `${rows} to learn from, ${valid} to look at meanwhile`,
        "Left out": Object.entries(dropped)
          .map(([reason, count]) => `${count}: ${reason}`)
          .join("; "),
      }} />
      <div class="row"><a class="button" href=${kit.address("datasets", "set", name)}>Look at its rows</a></div>
      <ol class="rows">
        ${examples.map(
          (row, at) => html`
            <li key=${at} class="card">
              ${parts(row).map(([who, text], place) => html`<p key=${place} class="said-by"><b>${who}</b> ${text}</p>`)}
            </li>`,
        )}
      </ol>`;
  };
}
