/** A form for any kind of job, a stranger's as well, made from the schema of what it takes. */

import { paramOf } from "../kit.js";
import { spelt } from "./curves.js";
import { entryOf } from "./entry.js";
import { fieldsOf, parametersOf } from "./schema.js";

export function newJobOf(kit) {
  const { html, hooks, app } = kit;
  const Entry = entryOf(kit);

  return function NewJob({ name }) {
    const kinds = kit.useKinds();
    const kind = kinds.find((each) => each.name === name);
    const [fault, setFault] = hooks.useState(null);
    if (!kinds.length) return html`<p class="hint" role="status">…</p>`;
    if (!kind) return html`<p class="fault">There is no kind of job “${name}” here.</p>`;
    const fields = fieldsOf(kind.parameters);
    const start = async (event) => {
      event.preventDefault();
      try {
        const body = { kind: name, parameters: parametersOf(fields, app.query.peek()) };
        const job = await app.api.json("/api/jobs", { body });
        kit.go("jobs", job.id);
      } catch (error) {
        setFault(error);
      }
    };
    const param = paramOf(fault).split(/[.[]/)[0];
    return html`
      <form class="card stack" aria-label=${`Start ${spelt(name)}`} onSubmit=${start}>
        <h2>${spelt(name)}</h2>
        <p>${kind.summary}</p>
        ${fields.map(
          (field) => html`
            <${Entry} key=${field.name} field=${field}
              error=${param === field.name ? fault.message : undefined} />`,
        )}
        ${fault && !fields.some((field) => field.name === param) && html`<p class="hint error" role="alert">${fault.message}</p>`}
        <div class="row"><button type="submit" class="primary">Start</button></div>
      </form>`;
  };
}
