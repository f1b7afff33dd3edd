/** The step that says how a model is packed: what each way costs and saves, and what goes beyond it. */

import { paramOf } from "../kit.js";
import { isMixed, listed, mixedSize, parametersOf, USUAL, wayOf } from "./ask.js";

const GROUPS = ["32", "64", "128"];
const CHATS = [
  ["", "as the server's settings say"],
  ["first", "the job waits"],
  ["waits", "answers wait for the job"],
  ["together", "neither waits"],
];
const FITS = new Map([
  [true, "fits"],
  [false, "does not fit"],
]);

export function choiceOf(kit) {
  const { html, hooks, app, Table, Select, NumberField, TextField, Check, format } = kit;

  return function Choice({ found }) {
    const [fault, setFault] = hooks.useState(null);
    const [busy, setBusy] = hooks.useState(false);
    const fields = app.query.value;
    const start = async (event) => {
      event.preventDefault();
      setBusy(true);
      setFault(null);
      try {
        const chat = fields.chat ? { chat: fields.chat } : {};
        const body = { kind: "quantize", parameters: parametersOf(fields), ...chat };
        kit.keep({ job: (await app.api.json("/api/jobs", { body })).id });
      } catch (problem) {
        setFault(problem);
      }
      setBusy(false);
    };
    const wrong = (name) => (paramOf(fault) === name ? fault.message : undefined);
    return html`
      <form class="card stack" aria-label="Bits" onSubmit=${start}>
        <h2>Bits</h2>
        <${Check} label="Each module by what it hurts: measured first, which takes a while" checked=${isMixed(fields)}
          onChange=${(on) => kit.keep({ mixed: on ? "yes" : "" })} />
        <${Select} label="Numbers that share a scale" value=${fields.group ?? USUAL.group}
          options=${GROUPS.map((group) => [group, group])} onChange=${(group) => kit.keep({ group })} />
        ${isMixed(fields) ? html`<${Target} found=${found} error=${wrong("target_bpw")} />` : html`<${Ways} found=${found} />`}
        <${Keys} error=${wrong("kv_target")} />
        <${More} wrong=${wrong} />
        ${fault && html`<p class="error" role="alert">${fault.message}</p>`}
        <div class="row"><button type="submit" class="primary" disabled=${busy}>Quantize</button></div>
      </form>`;
  };

  /** All modules alike: one row a way. */
  function Ways({ found }) {
    const { group = USUAL.group, way = USUAL.way } = app.query.value;
    const radio = (offer) => html`
      <label class="check">
        <input type="radio" name="way" value=${wayOf(offer)} checked=${wayOf(offer) === way}
          onChange=${() => kit.keep({ way: wayOf(offer) })} />
        <span>${offer.mode === "affine" ? `${offer.bits} bits` : offer.mode}</span>
      </label>`;
    return html`
      <${Table} caption="Ways to pack it" rows=${listed(found.offers, group)} rowKey=${(offer) => offer.label}
        columns=${[
          { title: "Way", cell: radio },
          { title: "Bits, scales included", numeric: true, cell: (offer) => offer.bits_per_weight },
          { title: "Size", numeric: true, cell: (offer) => format.bytes(offer.size_bytes) },
          { title: "Saved", numeric: true, cell: (offer) => format.percent(offer.saved) },
          { title: "This machine", cell: (offer) => fitting(offer.fits) },
        ]} />`;
  }

  function Target({ found, error }) {
    const { target } = app.query.value;
    const bits = Number(target ?? USUAL.target);
    const { bytes, fits } = mixedSize(found, bits);
    const hint = html`About ${format.bytes(bytes)}, ${format.percent(1 - bytes / found.size_bytes)} saved; ${fitting(fits)}.`;
    return html`
      <${NumberField} label="Mean bits of a number, scales included" value=${bits} min=${2} max=${16} step=${0.1}
        hint=${hint} error=${error} onInput=${(value) => kit.keep({ target: value })} />`;
  }

  function Keys({ error }) {
    const { kv } = app.query.value;
    return html`
      <${Check} label="Keys and values, too: layer by layer, by what they hurt" checked=${kv !== undefined}
        onChange=${(on) => kit.keep({ kv: on ? USUAL.kv : "" })} />
      ${
        kv !== undefined &&
        html`<${NumberField} label="Mean bits of keys and values" value=${Number(kv)} min=${4} max=${8} step=${0.5}
        error=${error} onInput=${(value) => kit.keep({ kv: value })} />`
      }`;
  }

  function More({ wrong }) {
    const fields = app.query.value;
    const number = (name, label, usual) => html`
      <${NumberField} label=${label} value=${fields[name] ? Number(fields[name]) : null} min=${1} step=${1}
        placeholder=${usual} error=${wrong(name)} onInput=${(value) => kit.keep({ [name]: value })} />`;
    return html`
      <details>
        <summary>More</summary>
        <div class="stack">
          <${TextField} label="Name of the new model" value=${fields.output ?? ""} error=${wrong("output")}
            placeholder="after the model and its bits" onInput=${(output) => kit.keep({ output })} />
          <${Check} label="Replace one of that name" checked=${fields.replace === "yes"}
            onChange=${(on) => kit.keep({ replace: on ? "yes" : "" })} />
          <${Check} label="Say what was lost" checked=${fields.report !== "no"}
            onChange=${(on) => kit.keep({ report: on ? "" : "no" })} />
          <${Select} label="What hurts is measured against" value=${fields.reference ?? ""}
            options=${[["", "the model as it is"], ["8bit", "the model with 8 bits: half the memory"]]}
            onChange=${(reference) => kit.keep({ reference })} />
          ${number("rows", "Texts to measure with", "8")} ${number("row_tokens", "Tokens of each", "256")}
          <${Select} label="While the server answers" value=${fields.chat ?? ""}
            options=${CHATS}
            onChange=${(chat) => kit.keep({ chat })} />
        </div>
      </details>`;
  }

  function fitting(fits) {
    return FITS.get(fits) ?? "not known whether it fits";
  }
}
