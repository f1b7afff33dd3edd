/** The wizard that fine-tunes: a model and a dataset, how, the job and its adapter. Its state is the address. */

import { entryOf } from "../jobs/entry.js";
import { jobViewOf } from "../jobs/job.js";
import { fieldsOf, parametersOf } from "../jobs/schema.js";
import { paramOf } from "../kit.js";
import { lookOf } from "./look.js";

const STEPS = ["Model and data", "How", "Job and adapter"];

/** What most people set: parameter -> what it is called here. */
const FIRST = {
  output: "Name of the adapter",
  epochs: "How often each row is seen",
  learning_rate: "Learning rate",
  rank: "Rank: how much it can learn",
  batch_rows: "Rows at a time",
};

/** Set in the first step. */
const ASKED = ["model", "data", "method"];

export default function finetuneOf(kit) {
  const { html, hooks, app, Steps, Button } = kit;
  const JobView = jobViewOf(kit);
  const Entry = entryOf(kit);
  const Look = lookOf(kit);

  return function Finetune() {
    const { job, seen } = app.query.value;
    const kind = kit.useKinds().find(({ name }) => name === "train");
    const [good, setGood] = hooks.useState(false);
    if (job) {
      return html`
        <div class="stack">
          <${Steps} steps=${STEPS} at=${2} />
          <${JobView} key=${job} id=${job} onOther=${(other) => kit.keep({ job: other ?? "" })} />
          <div class="row"><${Button} icon="left" onClick=${() => kit.keep({ job: "" })}>Back to the form<//></div>
        </div>`;
    }
    return html`
      <div class="stack">
        <${Steps} steps=${STEPS} at=${seen && good ? 1 : 0} />
        <${Look} onTold=${setGood} />
        ${kind && seen && good && html`<${How} fields=${fieldsOf(kind.parameters)} />`}
      </div>`;
  };

  function How({ fields }) {
    const [fault, setFault] = hooks.useState(null);
    const [busy, setBusy] = hooks.useState(false);
    const param = paramOf(fault);
    const known = (name) => fields.find((field) => field.name === name);
    const others = fields.filter(({ name }) => !(name in FIRST) && !ASKED.includes(name));
    const entry = (field, label) => html`
      <${Entry} key=${field.name} field=${field} label=${label} error=${param === field.name ? fault.message : undefined} />`;
    const start = async (event) => {
      event.preventDefault();
      setBusy(true);
      setFault(null);
      try {
        const body = { kind: "train", parameters: parametersOf(fields, app.query.peek()) };
        kit.keep({ job: (await app.api.json("/api/jobs", { body })).id });
      } catch (problem) {
        setFault(problem);
      }
      setBusy(false);
    };
    return html`
      <form class="card stack" aria-label="How" onSubmit=${start}>
        <h2>How</h2>
        ${Object.entries(FIRST).map(([name, label]) => known(name) && entry(known(name), label))}
        <details>
          <summary>More</summary>
          <div class="stack">${others.map((field) => entry(field))}</div>
        </details>
        ${fault && html`<p class="error trouble" role="alert">${fault.message}</p>`}
        <div class="row"><button type="submit" class="primary" disabled=${busy}>Fine-tune</button></div>
      </form>`;
  }
}
