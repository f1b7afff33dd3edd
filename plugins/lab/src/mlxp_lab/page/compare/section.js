/** Two conversations side by side, with one composer: a model with and without an adapter, or two of them. */

import { sideOf } from "./side.js";

const SIDES = ["a", "b"];
const NONE = "none";

export default function compareOf(kit) {
  const { html, hooks, signals, app, Select, NumberField, TextField, Button } = kit;

  return function Compare() {
    const fields = app.query.value;
    const models = kit.usePolled("/v1/models", 5).value?.data ?? [];
    const model = fields.model || models[0]?.id || "";
    const adapters = models.find(({ id }) => id === model)?.adapters ?? [];
    const sides = hooks.useMemo(() => SIDES.map(() => sideOf(app.api, signals.signal)), []);
    const [text, setText] = hooks.useState("");
    const both = (act) => () => {
      for (const side of sides) act(side);
    };
    hooks.useEffect(() => both((side) => side.stop()), []);
    const busy = sides.some((side) => side.busy.value);
    const chosen = (at) => fields[`adapter_${SIDES[at]}`] ?? NONE;
    const say = (event) => {
      event.preventDefault();
      if (busy || !text.trim()) return;
      sides.forEach((side, at) => void side.say(text, asked(fields, model, chosen(at))));
      setText("");
    };
    return html`
      <div class="stack">
        <h2>Side by side</h2>
        <div class="row numbers">
          ${
            models.length > 1 &&
            html`<${Select} label="Model" value=${model} options=${models.map(({ id }) => [id, id])}
            onChange=${(value) => kit.keep({ model: value, adapter_a: "", adapter_b: "" })} />`
          }
          <${NumberField} label="Temperature" value=${numberOf(fields.temperature)} placeholder="0" min=${0} max=${2} step=${0.1}
            onInput=${(value) => kit.keep({ temperature: value })} />
          <${NumberField} label="Most tokens" value=${numberOf(fields.tokens)} placeholder="the model's" min=${1} step=${1}
            onInput=${(value) => kit.keep({ tokens: value })} />
        </div>
        <div class="sides">
          ${sides.map(
            (side, at) => html`
              <${Side} key=${at} side=${side} at=${at} model=${model} adapters=${adapters} chosen=${chosen(at)} />`,
          )}
        </div>
        <form class="stack" aria-label="Ask both" onSubmit=${say}>
          <${TextField} label="Message to both" rows=${2} value=${text} onInput=${setText} />
          <div class="row">
            <button type="submit" class="primary" disabled=${busy || !text.trim()}>Ask both</button>
            ${busy && html`<${Button} icon="stop" onClick=${both((side) => side.stop())}>Stop<//>`}
            <${Button} icon="again" disabled=${busy} onClick=${both((side) => side.clear())}>Begin anew<//>
          </div>
        </form>
      </div>`;
  };

  function Side({ side, at, model, adapters, chosen }) {
    const letter = SIDES[at].toUpperCase();
    const options = [[NONE, "the model alone"], ...adapters.map((id) => [id, id])];
    if (!options.some(([id]) => id === chosen)) options.push([chosen, `${chosen} (not mounted)`]);
    const open = () => app.chat({ model, adapters: chosen === NONE ? [] : [chosen] });
    return html`
      <section class="card stack" aria-label=${`Side ${letter}`} aria-busy=${side.busy.value}>
        <${Select} label=${`Adapter of ${letter}`} value=${chosen} options=${options}
          onChange=${(value) => kit.keep({ [`adapter_${SIDES[at]}`]: value === NONE ? "" : value })} />
        <div class="turns" role="log" aria-label=${`Conversation ${letter}`}>
          ${side.turns.value.map(
            (turn, place) => html`
              <div key=${place} class=${`turn ${turn.role}`}>
                <b>${turn.role === "user" ? "You" : letter}</b>
                ${turn.thought && html`<p class="hint">${turn.thought}</p>`}
                <p class="words">${turn.text}</p>
                ${turn.fault && html`<p class="error">${turn.fault}</p>`}
              </div>`,
          )}
        </div>
        <div class="row"><${Button} kind="plain" icon="chat" onClick=${open}>Chat with ${letter}<//></div>
      </section>`;
  }
}

function asked({ temperature, tokens }, model, adapter) {
  return {
    model,
    adapter,
    temperature: Number(temperature ?? 0),
    ...(tokens ? { max_tokens: Number(tokens) } : {}),
  };
}

const numberOf = (text) => (text === undefined ? null : Number(text));
