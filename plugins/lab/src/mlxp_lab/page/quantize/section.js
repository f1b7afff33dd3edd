/** The wizard that quantizes: a model, how it is packed, the job, the report. Its state is the address. */

import { jobViewOf } from "../jobs/job.js";
import { choiceOf } from "./choice.js";

const STEPS = ["Model", "Bits", "Job and report"];

export default function quantizeOf(kit) {
  const { html, hooks, app, Steps, Proposed, Button, Facts, format } = kit;
  const JobView = jobViewOf(kit);
  const Choice = choiceOf(kit);

  return function Quantize() {
    const { seen, job } = app.query.value;
    const { found, fault } = useInspection(seen);
    return html`
      <div class="stack">
        <${Steps} steps=${STEPS} at=${job ? 2 : found ? 1 : 0} />
        ${job ? html`<${Running} job=${job} />` : html`<${Model} fault=${fault} busy=${seen && !found && !fault} />`}
        ${!job && found && html`<${Found} found=${found} /><${Choice} found=${found} />`}
      </div>`;
  };

  /** What the server says of the model that was asked about. */
  function useInspection(model) {
    const [told, setTold] = hooks.useState({});
    hooks.useEffect(() => {
      setTold({});
      if (!model) return undefined;
      const left = new AbortController();
      app.api.json("/api/quantize/inspect", { body: { model }, signal: left.signal }).then(
        (found) => setTold({ found }),
        (problem) => left.signal.aborted || setTold({ fault: problem.message }),
      );
      return () => left.abort();
    }, [model]);
    return told;
  }

  function Model({ fault, busy }) {
    const { model = "", seen } = app.query.value;
    const known = kit.usePolled("/api/lab/models", 0);
    const look = (event) => {
      event.preventDefault();
      kit.keep({ seen: model.trim(), model: model.trim() });
    };
    return html`
      <form class="card stack" aria-label="Model" onSubmit=${look}>
        <${Proposed} label="Model" value=${model} placeholder="a name or a folder" error=${fault}
          proposals=${(known.value?.models ?? []).map((each) => each.name)}
          hint="One of this server, one that a job made, one that is downloaded, or a folder."
          onInput=${(value) => kit.keep({ model: value, seen: "" })} />
        <div class="row">
          <button type="submit" class=${seen ? undefined : "primary"} disabled=${!model.trim() || busy}>Look at it</button>
          <span class="hint" role="status">${busy ? "looking…" : ""}</span>
        </div>
      </form>`;
  }

  function Found({ found }) {
    return html`
      <section class="card stack" aria-label="What it is">
        <h2>${found.model}</h2>
        <${Facts} facts=${{
          Family: found.family,
          Size: format.bytes(found.size_bytes),
          "To be packed": `${format.count(found.weights)} numbers in ${found.modules} modules`,
          "As it is": `${format.bytes(found.other_bytes)}${found.vision ? ", its eyes among it" : ""}`,
        }} />
        ${found.packed && html`<p class="hint">It is packed already: what is lost now is lost on top of that.</p>`}
      </section>`;
  }

  function Running({ job }) {
    return html`
      <${JobView} key=${job} id=${job} onOther=${(other) => kit.keep({ job: other ?? "" })} />
      <div class="row"><${Button} icon="left" onClick=${() => kit.keep({ job: "" })}>Another quantization<//></div>`;
  }
}
