/** One job: how it goes, what it says, what came of it, and what one can have it do. */

import { curvesOf, spelt } from "./curves.js";
import { follow, hasEnded } from "./follow.js";
import { resultsOf } from "./results.js";

export function jobViewOf(kit) {
  const { html, hooks, app, Button, State, Progress, Facts, format } = kit;
  const Curves = curvesOf(kit);
  const Result = resultsOf(kit);

  /** `onOther` is called with the id of a job that takes this one's place; `null` when it is forgotten. */
  return function JobView({ id, onOther }) {
    const [round, setRound] = hooks.useState(0);
    const followed = hooks.useMemo(() => follow(kit, id), [id, round]);
    hooks.useEffect(() => followed.stop, [followed]);
    const job = followed.job.value;
    const fault = followed.fault.value;
    if (!job) return fault ? html`<p class="fault">${fault}</p>` : html`<p class="hint" role="status">…</p>`;
    return html`
      <article class="stack job" aria-label=${job.title}>
        <section class="card stack" aria-label="State">
          <header class="row">
            <h2>${job.title}</h2>
            <span class="badge">${spelt(job.kind)}</span>
            <${State} job=${job} />
            <span class="hint">${when(job)}</span>
          </header>
          ${!hasEnded(job) && html`<${Progress} job=${job} />`}
          <p class="hint said" role="status">${said(job)}</p>
          ${fault && html`<p class="hint error">${fault}; trying again…</p>`}
          ${job.error && html`<p class="error trouble">${job.error}</p>`}
          <${Actions} job=${job} again=${() => setRound(round + 1)} onOther=${onOther} />
        </section>
        ${job.state === "done" && html`<${Result} job=${job} />`}
        <${Curves} steps=${followed.steps.value} />
        <${Log} lines=${followed.log.value} />
        <details class="card">
          <summary>What was asked</summary>
          <${Facts} facts=${spelled(job.parameters)} />
        </details>
      </article>`;
  };

  function said(job) {
    if (job.state === "queued") return "It waits for its turn.";
    if (job.paused) return "The server is answering; the job waits.";
    return job.state === "done" ? "" : job.message;
  }

  function when(job) {
    if (job.started_at === null) return `asked for ${format.ago(job.created_at, Date.now())}`;
    if (job.ended_at === null) return `started ${format.ago(job.started_at, Date.now())}`;
    return `took ${format.seconds((job.ended_at - job.started_at) / 1000)}, ended ${format.ago(job.ended_at, Date.now())}`;
  }

  function Actions({ job, again, onOther }) {
    const [busy, setBusy] = hooks.useState(false);
    const resumable = kit.useKinds().some((kind) => kind.name === job.kind && kind.resumable);
    const act = async (method, action, then) => {
      setBusy(true);
      const path = `/api/jobs/${encodeURIComponent(job.id)}${action}`;
      await kit.attempt(async () => then(await (await app.api.send(path, { method })).text()));
      setBusy(false);
    };
    const button = (text, icon, does) =>
      html`<${Button} icon=${icon} disabled=${busy} onClick=${does}>${text}<//>`;
    if (!hasEnded(job)) {
      const stopping = busy || job.cancel_at !== null;
      return html`<div class="row">
        <${Button} icon="stop" disabled=${stopping} onClick=${() => act("POST", "/cancel", () => {})}>Cancel<//>
      </div>`;
    }
    return html`<div class="row">
      ${job.state !== "done" && resumable && button("Resume", "forward", () => act("POST", "/resume", again))}
      ${button("Run again", "again", () => act("POST", "/retry", (told) => onOther(JSON.parse(told).id)))}
      ${button("Forget", "trash", () => act("DELETE", "", () => onOther(null)))}
    </div>`;
  }

  function Log({ lines }) {
    const box = hooks.useRef(null);
    const pinned = hooks.useRef(true);
    hooks.useLayoutEffect(() => {
      if (box.current && pinned.current) box.current.scrollTop = box.current.scrollHeight;
    }, [lines]);
    if (!lines.length) return null;
    const look = ({ currentTarget: it }) => {
      pinned.current = it.scrollHeight - it.scrollTop - it.clientHeight < 40;
    };
    return html`
      <section class="card" aria-label="Log">
        <h3>Log</h3>
        <pre class="log" ref=${box} tabindex="0" role="log" aria-live="off" aria-label="Lines" onScroll=${look}>
${lines.join("\n")}</pre>
      </section>`;
  }

  function spelled(parameters) {
    return Object.fromEntries(Object.entries(parameters).map(([name, value]) => [spelt(name), value]));
  }
}
