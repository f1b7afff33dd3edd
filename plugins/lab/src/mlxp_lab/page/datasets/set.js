/** One dataset: what it is, what is wrong with it, its rows, and what one can do with it. */

import { counts, origin } from "./card.js";
import { cleanOf } from "./clean.js";
import { rowsOf } from "./rows.js";

export function datasetOf(kit) {
  const { html, hooks, app, Facts, NumberField, Button, Dialog, format } = kit;
  const Clean = cleanOf(kit);
  const Rows = rowsOf(kit);

  return function Dataset({ name }) {
    const path = `/api/datasets/${encodeURIComponent(name)}`;
    const [round, setRound] = hooks.useState(0);
    const [card, setCard] = hooks.useState(null);
    const [told, setTold] = hooks.useState(null);
    const [problem, setProblem] = hooks.useState(null);
    hooks.useEffect(() => {
      app.api.json(path).then(setCard, setProblem);
      app.api.json(`${path}/inspect`).then(setTold, setProblem);
    }, [name, round]);
    if (problem) return html`<p class="fault">${problem.message}</p>`;
    if (!card) return html`<p class="hint" role="status">…</p>`;
    const changed = () => setRound(round + 1);
    return html`
      <section class="card stack" aria-label="Dataset">
        <h2>${card.name}</h2>
        <${Facts} facts=${{
          Form: card.form ?? "no good row",
          Rows: counts(card),
          Size: format.bytes(card.size_bytes),
          From: origin(card),
        }} />
        <${Actions} card=${card} path=${path} />
      </section>
      ${told && html`<${Inspection} told=${told} />`}
      <${Split} path=${path} changed=${changed} />
      <${Clean} key=${round} path=${path} changed=${changed} />
      <${Rows} path=${path} splits=${card.splits} changed=${changed} round=${round} />`;
  };

  function Actions({ card, path }) {
    const learns = kit.useKinds().some(({ name }) => name === "train");
    const finetune = `${kit.address("finetune")}?${new URLSearchParams({ data: card.name })}`;
    const [asking, setAsking] = hooks.useState(false);
    const remove = () =>
      kit.attempt(async () => {
        await app.api.send(path, { method: "DELETE" });
        kit.go("datasets");
      });
    return html`
      <div class="row">
        ${learns && html`<a class="button" href=${finetune}>Fine-tune with it</a>`}
        <${kit.Push} source=${card.name} kind="dataset" />
        <${Button} icon="trash" onClick=${() => setAsking(true)}>Remove<//>
      </div>
      ${
        asking &&
        html`<${Dialog} title="Remove the dataset?" onClose=${() => setAsking(false)}>
        <p>${card.name} and its rows will be gone.</p>
        <div class="row end"><${Button} kind="danger" icon="trash" onClick=${remove}>Remove it<//></div>
      <//>`
      }`;
  }

  function Inspection({ told }) {
    const remarks = (split, what) =>
      told.splits.filter((each) => each.split === split).flatMap((each) => each[what]);
    return html`
      <section class="card stack" aria-label="Inspection">
        <h3>${told.good ? "Good to learn from" : "Not good to learn from yet"}</h3>
        ${told.splits.map(
          (each) => html`
            <div key=${each.split} class="stack">
              <p>
                <b>${each.split}</b>: ${sizes(each)}
              </p>
              <${Remarks} title=${`${each.faulty} lines are no rows`} tone="error" remarks=${remarks(each.split, "faults")} />
              <${Remarks} title=${`${each.doubtful} rows may not be what was meant`} remarks=${remarks(each.split, "warnings")} />
            </div>`,
        )}
        ${told.shared > 0 && html`<p class="error">${told.shared} rows are in two parts: what is tested was learned.</p>`}
      </section>`;
  }

  function Remarks({ title, tone, remarks }) {
    if (!remarks.length) return null;
    return html`
      <details>
        <summary class=${tone}>${title}</summary>
        <ul class="remarks">${remarks.map(({ line, message }) => html`<li key=${line}>line ${line}: ${message}</li>`)}</ul>
      </details>`;
  }

  function Split({ path, changed }) {
    const [shares, setShares] = hooks.useState({ valid: 0.1, test: 0, seed: 0 });
    const split = (event) => {
      event.preventDefault();
      void kit.attempt(async () => {
        await app.api.json(`${path}/split`, { body: shares });
        app.notify("The rows are in new parts.");
        changed();
      });
    };
    const number = (name, label, more) => html`
      <${NumberField} label=${label} value=${shares[name]} min=${0} ...${more}
        onInput=${(value) => setShares({ ...shares, [name]: value ?? 0 })} />`;
    return html`
      <details class="card">
        <summary>Split anew</summary>
        <form class="row numbers" aria-label="Split" onSubmit=${split}>
          ${number("valid", "To look at while training", { max: 0.9, step: 0.05 })}
          ${number("test", "To test with", { max: 0.9, step: 0.05 })} ${number("seed", "Seed", { step: 1 })}
          <button type="submit">Split</button>
        </form>
      </details>`;
  }
}

/** How many rows a part has, how long they are, and how many are there twice. */
function sizes({ rows, characters, duplicates }) {
  const long =
    characters && `${characters.least} to ${characters.most} characters, ${characters.median} in the middle`;
  return [`${rows} rows`, long, duplicates > 0 && `${duplicates} say what another one says`]
    .filter(Boolean)
    .join("; ");
}
