/** Rows that are not worth keeping: which and why is told first, then they are left out. */

export function cleanOf(kit) {
  const { html, hooks, app, NumberField, Button } = kit;

  return function Clean({ path, changed }) {
    const [limits, setLimits] = hooks.useState({ near: 0.8, shortest: 1 });
    const [told, setTold] = hooks.useState(null);
    const ask = (really) => kit.attempt(() => app.api.json(`${path}/clean`, { body: { ...limits, really } }));
    const look = async (event) => {
      event.preventDefault();
      setTold((await ask(false)) ?? null);
    };
    const leave = async () => {
      if (!(await ask(true))) return;
      setTold(null);
      changed();
    };
    const number = (name, label, more) => html`
      <${NumberField} label=${label} value=${limits[name]} ...${more}
        onInput=${(value) => {
          setLimits({ ...limits, [name]: value ?? 0 });
          setTold(null);
        }} />`;
    return html`
      <details class="card">
        <summary>Clean</summary>
        <form class="row numbers" aria-label="Clean" onSubmit=${look}>
          ${number("near", "Rows this alike go (1 = the same)", { min: 0, max: 1, step: 0.05 })}
          ${number("shortest", "Characters an answer needs", { min: 0, step: 1 })}
          <button type="submit">Look what would go</button>
        </form>
        ${told && html`<${Told} told=${told} leave=${leave} />`}
      </details>`;
  };

  function Told({ told, leave }) {
    const { dropped, kept, remarks } = told;
    const reasons = Object.entries(dropped);
    if (!reasons.length) return html`<p role="status">All rows are worth keeping.</p>`;
    return html`
      <div class="stack" role="status">
        <p>${reasons.map(([why, count]) => `${count}: ${why}`).join("; ")}. ${kept.train} rows to learn from stay.</p>
        <ul class="remarks">
          ${remarks.map(({ split, line, why }) => html`<li key=${`${split}${line}`}>${split}, line ${line}: ${why}</li>`)}
        </ul>
        <div class="row"><${Button} kind="danger" icon="trash" onClick=${leave}>Leave them out<//></div>
      </div>`;
  }
}
