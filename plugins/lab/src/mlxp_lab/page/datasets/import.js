/** A form that makes a dataset of a file, or of what is pasted. */

import { paramOf } from "../kit.js";

const FORMATS = [
  ["", "as its name tells"],
  ["jsonl", "JSON lines"],
  ["json", "JSON"],
  ["csv", "CSV"],
  ["parquet", "Parquet"],
];
const COLUMNS = ["messages", "prompt", "completion", "text", "chosen", "rejected"];

export function importOf(kit) {
  const { html, hooks, app, TextField, NumberField, Select, Check, Field } = kit;

  return function Import() {
    const [file, setFile] = hooks.useState(null);
    const [pasted, setPasted] = hooks.useState("");
    const [fault, setFault] = hooks.useState(null);
    const [busy, setBusy] = hooks.useState(false);
    const fields = app.query.value;
    const choose = (event) => {
      const chosen = event.currentTarget.files[0] ?? null;
      setFile(chosen);
      if (chosen && !fields.name) kit.keep({ name: named(chosen.name) });
    };
    const start = async (event) => {
      event.preventDefault();
      setBusy(true);
      try {
        const content = file ? { base64: await base64Of(file), source: file.name } : { text: pasted };
        const card = await app.api.json("/api/datasets", { body: { ...asked(fields, file), ...content } });
        kit.go("datasets", "set", card.name);
      } catch (problem) {
        setFault(problem);
      }
      setBusy(false);
    };
    const wrong = (name) => (paramOf(fault) === name ? fault.message : undefined);
    const text = (name, label, more) => html`
      <${TextField} label=${label} value=${fields[name] ?? ""} error=${wrong(name)} ...${more}
        onInput=${(value) => kit.keep({ [name]: value })} />`;
    const share = (name, label, usual) => html`
      <${NumberField} label=${label} value=${fields[name] ? Number(fields[name]) : null} placeholder=${usual} min=${0} max=${0.9}
        step=${0.05} error=${wrong(name)} onInput=${(value) => kit.keep({ [name]: value })} />`;
    return html`
      <form class="card stack" aria-label="Import a dataset" onSubmit=${start}>
        <h2>Import</h2>
        <p class="hint">
          JSON lines, JSON, CSV or Parquet: conversations (messages), prompt and completion, text, or prompt with a chosen
          and a rejected answer.
        </p>
        <${Field} label="File" error=${wrong("base64")}>
          ${(attributes) => html`<input ...${attributes} type="file" onChange=${choose} />`}
        <//>
        ${
          !file &&
          html`<${TextField} label="Or paste it" rows=${6} mono value=${pasted} error=${wrong("text")} onInput=${setPasted} />`
        }
        ${text("name", "Name of the dataset", { placeholder: "letters, digits, dots and dashes" })}
        <${Select} label="Format" value=${fields.format ?? ""} options=${FORMATS} error=${wrong("format")}
          onChange=${(value) => kit.keep({ format: value })} />
        <details>
          <summary>Columns, parts</summary>
          <div class="stack">
            <p class="hint">Where the file calls its columns otherwise: what stands for a field here.</p>
            ${COLUMNS.map((name) => text(`as_${name}`, `Column for ${name}`, {}))}
            ${share("valid", "Share to look at while training", "0")} ${share("test", "Share to test with", "0")}
            <${Check} label="Leave out what is no row" checked=${fields.skip === "yes"}
              onChange=${(on) => kit.keep({ skip: on ? "yes" : "" })} />
            <${Check} label="Replace a dataset of that name" checked=${fields.replace === "yes"}
              onChange=${(on) => kit.keep({ replace: on ? "yes" : "" })} />
          </div>
        </details>
        ${fault && html`<p class="error trouble" role="alert">${fault.message}</p>`}
        <div class="row">
          <button type="submit" class="primary" disabled=${busy || !fields.name || !(file || pasted.trim())}>Import</button>
        </div>
      </form>`;
  };
}

/** What is asked for, but for the content. */
function asked(fields, file) {
  const columns = COLUMNS.filter((name) => fields[`as_${name}`]).map((name) => [name, fields[`as_${name}`]]);
  return {
    name: fields.name,
    ...(fields.format ? { format: fields.format } : file ? {} : { format: "jsonl" }),
    ...(columns.length ? { columns: Object.fromEntries(columns) } : {}),
    ...(fields.skip === "yes" ? { skip_faulty: true } : {}),
    ...(fields.replace === "yes" ? { replace: true } : {}),
    valid: Number(fields.valid ?? 0),
    test: Number(fields.test ?? 0),
  };
}

/** A name for a dataset after that of a file. */
export function named(file) {
  return file
    .replace(/\.[^.]*$/, "")
    .replace(/[^A-Za-z0-9._-]+/g, "-")
    .replace(/^[^A-Za-z0-9]+|[^A-Za-z0-9]+$/g, "");
}

async function base64Of(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000)
    text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}
