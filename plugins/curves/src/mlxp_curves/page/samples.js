/** Samples by the server's own recipe and by the curve, side by side, and the blind test. */

const LENGTH = 90;
const BLIND_LENGTH = 60;
const SEEDS = 2 ** 32;

/** Draw samples both ways from the same seed; a straight curve draws one way only. */
export async function drawBoth(api, asked, curve) {
  const body = { ...asked, max_tokens: LENGTH };
  const [plain, bent] = await Promise.all([draw(api, body, null), curve && draw(api, body, curve)]);
  return { plain, bent };
}

/** Draw one sample each way, from seeds of their own, in an order that nobody knows. */
export async function drawPair(api, asked, curve, random = Math.random) {
  const body = () => ({ ...asked, n: 1, max_tokens: BLIND_LENGTH, seed: Math.floor(random() * SEEDS) });
  const [plain, bent] = await Promise.all([draw(api, body(), null), draw(api, body(), curve)]);
  const pair = [
    { by: "default", text: plain.samples[0].text },
    { by: "curve", text: bent.samples[0].text },
  ];
  return random() < 0.5 ? pair : pair.reverse();
}

function draw(api, body, curve) {
  const how = curve ? { curve } : { default: true };
  return api.json("/v1/curves/generate", { body: { ...body, ...how } });
}

export function samplesOf({ html }) {
  function Column({ title, drawn }) {
    return html`
      <section class="card" aria-label=${title}>
        <h2>${title}</h2>
        ${drawn?.recipe && html`<p class="hint">${spelt(drawn.recipe)}</p>`}
        ${drawn
          ? html`<ol class="samples">
              ${drawn.samples.map(
                (each, at) => html`
                  <li key=${at}>
                    ${each.junk && html`<span class="badge bad">junk</span> `}
                    ${each.text || html`<span class="hint">nothing</span>`}
                  </li>`,
              )}
            </ol>`
          : html`<p class="hint">The curve is straight: it draws as temperature 1 does.</p>`}
      </section>`;
  }

  return function Samples({ both }) {
    return html`
      <div class="grid" aria-live="polite">
        <${Column} title="As the server draws" drawn=${both.plain} />
        <${Column} title="By the curve" drawn=${both.bent} />
      </div>`;
  };
}

function spelt({ temperature, topP, topK }) {
  const cuts = [topP > 0 && topP < 1 && `top_p ${topP}`, topK > 0 && `top_k ${topK}`];
  return [`temperature ${temperature}`, ...cuts.filter(Boolean)].join(", ");
}

export function blindOf({ html, Button }) {
  return function Blind({ pair, guess, score, onGuess, onCopy }) {
    return html`
      <section class="card stack" aria-label="Blind test" aria-live="polite">
        <h2>Which one is drawn by the curve?</h2>
        <ol class="pair">
          ${pair.map(
            (each, at) => html`
              <li key=${at}>
                <p>${each.text || html`<span class="hint">nothing</span>`}</p>
                ${guess === null
                  ? html`<${Button} onClick=${() => onGuess(at)}>${"AB"[at]} is the curve's<//>`
                  : html`<span class=${each.by === "curve" ? "badge on" : "badge"}>
                      ${each.by === "curve" ? "by the curve" : "as the server draws"}
                    </span>`}
              </li>`,
          )}
        </ol>
        ${guess !== null &&
        html`<p class="row">
          <b>${pair[guess].by === "curve" ? "Right." : "Wrong."}</b>
          <span class="hint">${score.right} of ${score.asked} right so far</span>
          <${Button} kind="plain" icon="copy" onClick=${onCopy}>Copy the pair<//>
        </p>`}
      </section>`;
  };
}
