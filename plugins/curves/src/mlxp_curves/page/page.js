/** The curve designer: a page of the web app, made of what the app hands to every page. */

import { bent } from "./bent.js";
import { plotOf } from "./plot.js";
import { DIAGONAL, ofTemperature, readouts, values } from "./points.js";
import { blindOf, samplesOf } from "./samples.js";
import { stateOf } from "./state.js";

const PROMPTS = [
  "Write the first sentence of a short story.",
  "Name a colour, and what it smells of.",
  "What is the capital of France?",
  "Invent a word and say what it means.",
];

const SHAPES = [
  ["Straight", DIAGONAL],
  ["Cooler", ofTemperature(0.7)],
  ["Warmer", ofTemperature(1.4)],
];

/** @param {HTMLElement} element @param {any} app */
export default function mount(element, app) {
  const { html, preact, Button, Table, TextField, NumberField, Select } = app.ui;
  const state = stateOf(app);
  const Plot = plotOf(app.ui);
  const Samples = samplesOf(app.ui);
  const Blind = blindOf(app.ui);

  async function copy(text, what) {
    try {
      await app.ui.copyText(text);
      app.notify(`${what} copied`);
    } catch (error) {
      app.notify(error.message, "error");
    }
  }
  const copyValues = () => copy(JSON.stringify(values(state.points.value), null, 2), "Values");
  const copyPair = () =>
    copy(state.pair.value.map(({ text }, at) => `${"AB"[at]}: ${text}`).join("\n\n"), "Pair");
  const use = () =>
    app.chat({
      text: state.prompt.value,
      ...(state.model.value ? { model: state.model.value } : {}),
      fields: { sampler_stages: { curve: values(state.points.value) } },
    });

  function Shape() {
    const { points, told, straight } = state;
    return html`
      <section class="card stack" aria-label="Curve">
        <${Plot} points=${points.value} bins=${told.value?.bins ?? []} onMove=${(next) => state.bend(next)} />
        <p class="hint">
          Drag the points, or move them with the arrow keys.${" "}
          ${straight.value ? "The curve is straight: temperature 1." : "Grey: how many tokens there are."}
        </p>
        <dl class="readouts">
          ${readouts(points.value).map(
            ({ part, slope, does }) => html`
              <div key=${part}><dt>${part}</dt><dd>${does} <span class="hint">${slope.toFixed(2)}</span></dd></div>`,
          )}
        </dl>
        <div class="row">
          ${SHAPES.map(
            ([name, shape]) => html`<${Button} key=${name} onClick=${() => state.bend(shape)}>${name}<//>`,
          )}
        </div>
        <div class="row">
          <${Button} icon="copy" onClick=${copyValues}>Copy values<//>
          <${Button} icon="chat" disabled=${straight.value} onClick=${use}>Use in chat<//>
        </div>
      </section>`;
  }

  function Asking() {
    const { prompt, model, models, count, seed, busy, straight } = state;
    const idle = busy.value === "" && prompt.value.trim() !== "";
    return html`
      <section class="card stack" aria-label="Prompt">
        <${TextField} label="Prompt" rows=${3} value=${prompt.value} onInput=${(text) => state.say(text)} />
        <div class="row">
          ${PROMPTS.map(
            (text) => html`
              <button key=${text} type="button" class="chip" onClick=${() => { state.say(text); void state.look(); }}>
                ${text}
              </button>`,
          )}
        </div>
        ${models.value.length > 1 &&
        html`<${Select} label="Model" value=${model.value || models.value[0]}
          options=${models.value.map((id) => [id, id])} onChange=${(id) => state.choose(id)} />`}
        <div class="row numbers">
          <${NumberField} label="Samples" value=${count.value} min=${1} max=${8} step=${1}
            onInput=${(value) => { count.value = value; }} />
          <${NumberField} label="Seed" value=${seed.value} min=${0} step=${1}
            onInput=${(value) => { seed.value = value; }} />
        </div>
        <div class="row">
          <${Button} kind="primary" disabled=${!idle} onClick=${state.generate}>Generate<//>
          <${Button} disabled=${!idle || straight.value} onClick=${state.test}>Test (blind)<//>
          <${Button} icon="again" disabled=${!idle} onClick=${state.look}>Look at the next token<//>
          <span class="hint" role="status">${BUSY[busy.value] ?? ""}</span>
        </div>
      </section>`;
  }

  function Candidates() {
    const { told, points } = state;
    if (!told.value) return null;
    const rows = bent(told.value, points.value);
    const most = Math.max(...rows.flatMap((row) => [row.before, row.after]));
    const share = (value) => `${(100 * value).toPrecision(3)} %`;
    return html`
      <section class="card" aria-label="Next token">
        <h2>The next token</h2>
        <${Table} caption="The likeliest next tokens" rowKey=${(row) => String(row.token)}
          rows=${rows}
          columns=${[
            { title: "Token", cell: (row) => html`<code>${JSON.stringify(row.text)}</code>` },
            { title: "The model's", numeric: true, cell: (row) => share(row.before) },
            { title: "By the curve", numeric: true, cell: (row) => share(row.after) },
            { title: "Compared", cell: (row) => html`<${Shares} row=${row} most=${most} />` },
          ]} />
        <p class="hint">
          ${told.value.vocab.toLocaleString("en")} tokens; those without a name count as the middle of their bin.
        </p>
      </section>`;
  }

  function Shares({ row, most }) {
    const bar = (value, y) =>
      html`<rect class=${y ? "after" : "before"} y=${y} width=${(100 * value) / most} height="4" />`;
    return html`<svg class="shares" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      ${bar(row.before, 0)}${bar(row.after, 6)}
    </svg>`;
  }

  function Designer() {
    const { both, pair, guess, score } = state;
    return html`
      <link rel="stylesheet" href=${new URL("page.css", import.meta.url).href} />
      <div class="content curves">
        <h1>Curves</h1>
        <p class="hint lead">
          Draw how likely tokens become from how likely the model finds them. An experiment: a curve changes how much is
          varied, not where.
        </p>
        <div class="curves-columns">
          <div class="stack"><${Shape} /></div>
          <div class="stack">
            <${Asking} />
            ${both.value && html`<${Samples} both=${both.value} />`}
            ${pair.value &&
            html`<${Blind} pair=${pair.value} guess=${guess.value} score=${score.value}
              onGuess=${(at) => state.judge(at)} onCopy=${copyPair} />`}
            <${Candidates} />
          </div>
        </div>
      </div>`;
  }

  const forget = state.remember();
  preact.render(html`<${Designer} />`, element);
  void state.find().then(state.look);
  return () => {
    forget();
    preact.render(null, element);
  };
}

const BUSY = { signal: "reading the prompt…", generate: "drawing…", test: "drawing a pair…" };
