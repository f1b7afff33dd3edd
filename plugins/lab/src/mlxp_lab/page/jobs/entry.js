/** One field of a form, made of what a schema says of a parameter; its value stands in the address. */

import { spelt } from "./curves.js";

const SHAPES = { json: "As JSON.", list: "One a line." };

export function entryOf(kit) {
  const { html, app, TextField, NumberField, Select, Check } = kit;

  /** `label` where it says more than the parameter's name. */
  return function Entry({ field, error, label = spelt(field.name) }) {
    const { kind, name, required, usual } = field;
    const hint = [field.hint, SHAPES[kind]].filter(Boolean).join(" ") || undefined;
    const text = app.query.value[name] ?? "";
    const set = (value) => kit.keep({ [name]: value });
    const placeholder =
      usual === null || kind === "list" ? undefined : kind === "text" ? usual : JSON.stringify(usual);
    const named = { label: required ? label : `${label} (optional)`, error, placeholder, hint };
    if (kind === "check") {
      const checked = text === "" ? usual === true : text === "true";
      const said = hint ? html`${label} <span class="hint">${hint}</span>` : label;
      return html`<${Check} label=${said} checked=${checked} onChange=${(on) => set(String(on))} />`;
    }
    if (kind === "choice") {
      const options = [
        ["", usual === null ? "–" : `usual: ${usual}`],
        ...field.options.map((each) => [each, each]),
      ];
      return html`<${Select} ...${named} value=${text} options=${options} onChange=${set} />`;
    }
    if (kind === "number") {
      const value = text === "" ? null : Number(text);
      return html`<${NumberField} ...${named} value=${value} step=${field.step} min=${field.min} max=${field.max} onInput=${set} />`;
    }
    const rows = kind === "list" ? 2 : undefined;
    return html`<${TextField} ...${named} mono=${kind === "json"} rows=${rows} value=${text} onInput=${set} />`;
  };
}
