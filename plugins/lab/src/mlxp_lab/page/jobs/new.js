/** A form for any kind of job, a stranger's as well, made from the schema of what it takes. */

import { paramOf } from "../kit.js";
import { spelt } from "./curves.js";
import { fieldsOf, parametersOf } from "./schema.js";

export function newJobOf(kit) {
  const { html, hooks, app, TextField, NumberField, Select, Check } = kit;

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
            <${Entry} key=${field.name} field=${field} text=${app.query.value[field.name] ?? ""}
              error=${param === field.name ? fault.message : undefined} />`,
        )}
        ${fault && !fields.some((field) => field.name === param) && html`<p class="hint error" role="alert">${fault.message}</p>`}
        <div class="row"><button type="submit" class="primary">Start</button></div>
      </form>`;
  };

  function Entry({ field, text, error }) {
    const { kind, name, required, usual } = field;
    const set = (value) => kit.keep({ [name]: value });
    const label = required ? spelt(name) : `${spelt(name)} (optional)`;
    const placeholder = usual === null ? undefined : kind === "text" ? String(usual) : JSON.stringify(usual);
    const named = { label, error, placeholder };
    if (kind === "check") {
      const checked = text === "" ? usual === true : text === "true";
      return html`<${Check} label=${spelt(name)} checked=${checked} onChange=${(on) => set(String(on))} />`;
    }
    if (kind === "choice") {
      const options = [["", usual === null ? "–" : `usual: ${usual}`], ...field.options.map((each) => [each, each])];
      return html`<${Select} ...${named} value=${text} options=${options} onChange=${set} />`;
    }
    if (kind === "number") {
      const value = text === "" ? null : Number(text);
      return html`<${NumberField} ...${named} value=${value} step=${field.step} min=${field.min} max=${field.max} onInput=${set} />`;
    }
    const hint = kind === "json" ? "as JSON" : undefined;
    return html`<${TextField} ...${named} hint=${hint} mono=${kind === "json"} value=${text} onInput=${set} />`;
  }
}
