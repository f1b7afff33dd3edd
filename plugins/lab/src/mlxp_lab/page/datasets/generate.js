/** The wizard that has a dataset written: by a template, from what one types, by the model that is served. */

import { jobViewOf } from "../jobs/job.js";
import { paramOf } from "../kit.js";

const STEPS = ["Template", "What it is made of", "Job"];
const KEPT = "mlxp.lab.generate";

export function generateOf(kit) {
  const { html, hooks, app, Steps, Button } = kit;
  const JobView = jobViewOf(kit);
  const Form = formOf(kit);

  return function Generate() {
    const { template, job } = app.query.value;
    const [templates, setTemplates] = hooks.useState([]);
    hooks.useEffect(() => {
      void kit.attempt(async () => setTemplates((await app.api.json("/api/dataset-templates")).templates));
    }, []);
    const chosen = templates.find((each) => each.name === template);
    return html`
      <${Steps} steps=${STEPS} at=${job ? 2 : chosen ? 1 : 0} />
      ${
        job &&
        html`
        <${JobView} key=${job} id=${job} onOther=${(other) => kit.keep({ job: other ?? "" })} />
        <div class="row"><${Button} icon="left" onClick=${() => kit.keep({ job: "" })}>Back to the form<//></div>`
      }
      ${!job && chosen && html`<${Form} key=${template} template=${chosen} />`}
      ${!job && !chosen && html`<${Choice} templates=${templates} />`}`;
  };

  function Choice({ templates }) {
    return html`
      <div class="grid">
        ${templates.map(
          (each) => html`
            <article key=${each.name} class="card stack" aria-label=${each.label}>
              <h2>${each.label}</h2>
              <p>${each.summary}</p>
              <p class="row">
                <span class="badge">${each.form}</span>
                ${each.needs_model && html`<span class="badge">asks the model</span>`}
              </p>
              <div class="row"><${Button} onClick=${() => kit.keep({ template: each.name })}>Take this<//></div>
            </article>`,
        )}
      </div>`;
  }
}

function formOf(kit) {
  const { html, hooks, app, TextField, NumberField, Select, Check, Button } = kit;

  return function Form({ template }) {
    const fields = app.query.value;
    const texts = useTexts(hooks, template);
    const [fault, setFault] = hooks.useState(null);
    const models = kit.usePolled("/v1/models", 0).value?.data ?? [];
    const wrong = (name) => (paramOf(fault) === name ? fault.message : undefined);
    const start = async (event) => {
      event.preventDefault();
      try {
        const parameters = asked(template, texts.value, fields);
        kit.keep({ job: (await app.api.json("/api/jobs", { body: { kind: "generate", parameters } })).id });
      } catch (problem) {
        setFault(problem);
      }
    };
    const number = (name, label, usual, more) => html`
      <${NumberField} label=${label} value=${fields[name] ? Number(fields[name]) : null} placeholder=${usual} error=${wrong(name)}
        min=${0} ...${more} onInput=${(value) => kit.keep({ [name]: value })} />`;
    return html`
      <form class="card stack" aria-label=${template.label} onSubmit=${start}>
        <h2>${template.label}</h2>
        <p>${template.summary}</p>
        ${template.fields.map(
          (field) => html`<${Entry} key=${field.name} field=${field} value=${texts.value[field.name] ?? ""}
            error=${wrong(`inputs.${field.name}`) ?? wrong(field.name)} onInput=${(text) => texts.set(field.name, text)} />`,
        )}
        <${TextField} label="Name of the dataset" value=${fields.name ?? ""} error=${wrong("name")}
          onInput=${(name) => kit.keep({ name })} />
        ${
          template.needs_model &&
          models.length > 1 &&
          html`<${Select} label="Model that writes" value=${fields.model ?? ""} onChange=${(model) => kit.keep({ model })}
          options=${[["", "the first one"], ...models.map(({ id }) => [id, id])]} />`
        }
        <details>
          <summary>More</summary>
          <div class="stack">
            ${template.needs_model && number("temperature", "Temperature", "0.7", { step: 0.1 })}
            ${number("seed", "Seed", "0", { step: 1 })}
            ${number("valid", "Share to look at while training", "0.1", { max: 0.9, step: 0.05 })}
            ${number("near", "Rows this alike are dropped (1 = the same)", "0.8", { max: 1, step: 0.05 })}
            ${number("shortest", "Characters an answer needs", "1", { step: 1 })}
            <${Check} label="Replace a dataset of that name" checked=${fields.replace === "yes"}
              onChange=${(on) => kit.keep({ replace: on ? "yes" : "" })} />
          </div>
        </details>
        ${fault && html`<p class="error trouble" role="alert">${fault.message}</p>`}
        <div class="row">
          <button type="submit" class="primary">Write it</button>
          <${Button} icon="left" onClick=${() => kit.keep({ template: "" })}>Another template<//>
        </div>
      </form>`;
  };

  function Entry({ field, value, error, onInput }) {
    const named = {
      label: field.required ? field.label : `${field.label} (optional)`,
      hint: field.hint,
      error,
    };
    const usual = field.default === null || field.default === "" ? undefined : String(field.default);
    if (field.type === "number") {
      const text = (number) => onInput(number === null ? "" : String(number));
      return html`<${NumberField} ...${named} value=${value === "" ? null : Number(value)} placeholder=${usual} onInput=${text} />`;
    }
    const rows = field.type === "line" ? undefined : 6;
    return html`<${TextField} ...${named} rows=${rows} value=${value} placeholder=${usual} onInput=${onInput} />`;
  }
}

/** Texts that are too long for an address: kept for this tab, by template. */
function useTexts(hooks, template) {
  const name = `${KEPT}.${template.name}`;
  const [value, setValue] = hooks.useState(() => JSON.parse(sessionStorage.getItem(name) ?? "{}"));
  const set = (field, text) => {
    const next = { ...value, [field]: text };
    sessionStorage.setItem(name, JSON.stringify(next));
    setValue(next);
  };
  return { value, set };
}

/** Names of the server's own machine; by any other a job might reach it through others, who have no key of it. */
const HERE = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Return a job's parameters; what is empty is left to the server. */
export function asked(template, texts, fields) {
  const filled = template.fields.filter(({ name }) => (texts[name] ?? "") !== "");
  const inputs = filled.map(({ name, type }) => [
    name,
    type === "number" ? Number(texts[name]) : texts[name],
  ]);
  const numbers = ["temperature", "seed", "valid", "near", "shortest"].filter(
    (name) => fields[name] !== undefined,
  );
  return {
    template: template.name,
    name: fields.name ?? "",
    inputs: Object.fromEntries(inputs),
    ...(HERE.has(location.hostname) ? { server: location.origin } : {}),
    ...(fields.model ? { model: fields.model } : {}),
    ...Object.fromEntries(numbers.map((name) => [name, Number(fields[name])])),
    ...(fields.replace === "yes" ? { replace: true } : {}),
  };
}
