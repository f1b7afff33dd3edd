/** A model that a job made: how it is served, and what one can do with it next. */

export function madeModelOf({ html, app, attempt, copyText, Button, Facts, Push, address }) {
  return function MadeModel({ folder }) {
    const name = folder.split("/").at(-1);
    const serve = `mlxp serve ${name}`;
    const copy = () =>
      attempt(async () => {
        await copyText(serve);
        app.notify(`Copied: ${serve}`);
      });
    const link = (text, parts, query) => html`
      <a class="button" href=${`${address(...parts)}?${new URLSearchParams(query)}`}>${text}</a>`;
    return html`
      <${Facts} facts=${{ Model: name, "Is in": folder, "Is served by": serve }} />
      <div class="row">
        <${Button} icon="copy" onClick=${copy}>Copy the command<//>
        ${link("Measure its speed", ["jobs", "new", "bench"], { model: folder })}
        ${link("Quantize it", ["quantize"], { model: folder, seen: folder })}
        <${Push} source=${folder} kind="model" />
      </div>`;
  };
}
