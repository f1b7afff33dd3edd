/** The jobs, the newest first, and what else can be started. */

import { spelt } from "./curves.js";
import { hasEnded } from "./follow.js";

/** Kinds that have a wizard, and where it is. */
const WIZARDS = {
  quantize: ["quantize"],
  train: ["finetune"],
  generate: ["datasets", "generate"],
  push: ["push"],
};

export function jobListOf(kit) {
  const { html, app, Table, Select, Button, State, Progress, format } = kit;

  return function JobList() {
    const kind = app.query.value.kind ?? "";
    const listed = kit.usePolled(`/api/jobs?limit=200${kind ? `&kind=${encodeURIComponent(kind)}` : ""}`);
    const kinds = kit.useKinds();
    const cancel = (job) => async () => {
      await kit.attempt(() => app.api.json(`/api/jobs/${job.id}/cancel`, { method: "POST" }));
      listed.again();
    };
    return html`
      <div class="stack">
        <section>
          <header class="row spread">
            <h2>Jobs</h2>
            <${Select} label="Show" value=${kind} onChange=${(value) => kit.keep({ kind: value })}
              options=${[["", "all kinds"], ...kinds.map(({ name }) => [name, spelt(name)])]} />
          </header>
          ${listed.problem && html`<p class="hint error">${listed.problem.message}</p>`}
          <${Table} caption="Jobs" rows=${listed.value?.jobs ?? []} rowKey=${(job) => job.id}
            empty=${listed.value ? "No job yet." : "…"} columns=${columns(cancel)} />
        </section>
        <section>
          <h2>Start</h2>
          <div class="grid">
            ${kinds.map(
              ({ name, summary, device }) => html`
                <article key=${name} class="card stack" aria-label=${name}>
                  <h3>${spelt(name)}</h3>
                  <p>${summary}</p>
                  <p class="row">
                    <a class="button" href=${kit.address(...(WIZARDS[name] ?? ["jobs", "new", name]))}>
                      Start ${spelt(name)}
                    </a>
                    ${device === "cpu" && html`<span class="hint">runs beside others</span>`}
                  </p>
                </article>`,
            )}
          </div>
        </section>
      </div>`;
  };

  function columns(cancel) {
    return [
      { title: "Job", cell: (job) => html`<a href=${kit.address("jobs", job.id)}>${job.title}</a>` },
      { title: "Kind", cell: (job) => spelt(job.kind) },
      { title: "State", cell: (job) => html`<${State} job=${job} />` },
      { title: "Progress", cell: (job) => (job.state === "done" ? "" : html`<${Progress} job=${job} />`) },
      { title: "Asked for", cell: (job) => format.ago(job.created_at, Date.now()) },
      {
        title: "Stop",
        cell: (job) =>
          hasEnded(job)
            ? ""
            : html`<${Button} kind="plain" icon="stop" label=${`Cancel ${job.title}`} onClick=${cancel(job)} />`,
      },
    ];
  }
}
