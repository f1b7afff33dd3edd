/** One field of a form, made of what a schema says of a parameter; its value stands in the address. */

import { spelt } from "./curves.js";

export function entryOf(kit) {
  const { html, app, TextField, NumberField, Select, Check } = kit;

  /** `label` and `hint` where they say more than the parameter's name. */
  return function Entry({ field, error, label = spelt(field.name), hint }) {
    const { kind, name, required, usual } = field;
    const text = app.query.value[name] ?? "";
    const set = (value) => kit.keep({ [name]: value });
    const placeholder = usual === null ? undefined : kind === "text" ? String(usual) : JSON.stringify(usual);
    const named = { label: required ? label : `${label} (optional)`, error, placeholder, hint };
    if (kind === "check") {
      const checked = text === "" ? usual === true : text === "true";
      return html`<${Check} label=${label} checked=${checked} onChange=${(on) => set(String(on))} />`;
    }
    if (kind === "choice") {
      const options = [["", usual === null ? "–" : `usual: ${usual}`], ...field.options.map((each) => [each, each])];
      return html`<${Select} ...${named} value=${text} options=${options} onChange=${set} />`;
    }
    if (kind === "number") {
      const value = text === "" ? null : Number(text);
      return html`<${NumberField} ...${named} value=${value} step=${field.step} min=${field.min} max=${field.max} onInput=${set} />`;
    }
    const json = kind === "json";
    return html`<${TextField} ...${named} hint=${hint ?? (json ? "as JSON" : undefined)} mono=${json} value=${text} onInput=${set} />`;
  };
}
