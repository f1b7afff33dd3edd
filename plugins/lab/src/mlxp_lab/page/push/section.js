/** Puts a model, an adapter or a dataset on the hub: whose hub it is, what goes where, the job. */

import { entryOf } from "../jobs/entry.js";
import { jobViewOf } from "../jobs/job.js";
import { fieldsOf, parametersOf } from "../jobs/schema.js";
import { paramOf } from "../kit.js";

export default function pushingOf(kit) {
  const { html, hooks, app, TextField, Button } = kit;
  const JobView = jobViewOf(kit);
  const Entry = entryOf(kit);

  return function Push() {
    const { job } = app.query.value;
    const kind = kit.useKinds().find(({ name }) => name === "push");
    const account = kit.usePolled("/api/hub/account", 0);
    if (job) {
      return html`
        <div class="stack">
          <${JobView} key=${job} id=${job} onOther=${(other) => kit.keep({ job: other ?? "" })} />
          <div class="row"><${Button} icon="left" onClick=${() => kit.keep({ job: "" })}>Back to the form<//></div>
        </div>`;
    }
    return html`
      <div class="stack">
        <h2>Put it on the hub</h2>
        ${account.problem && html`<p class="error">${account.problem.message}</p>`}
        ${account.value && !account.value.known && html`<${Token} endpoint=${account.value.endpoint} again=${account.again} />`}
        ${account.value?.known && kind && html`<${Form} fields=${fieldsOf(kind.parameters)} endpoint=${account.value.endpoint} />`}
      </div>`;
  };

  /** Asks for a token, which stands neither in the address nor in this browser. */
  function Token({ endpoint, again }) {
    const [token, setToken] = hooks.useState("");
    const [fault, setFault] = hooks.useState(undefined);
    const save = async (event) => {
      event.preventDefault();
      try {
        const { name } = await app.api.json("/api/hub/account", { body: { token } });
        app.notify(`The hub knows this server as ${name}.`);
        again();
      } catch (problem) {
        setFault(problem.message);
      }
    };
    return html`
      <form class="card stack" aria-label="Token" onSubmit=${save}>
        <p>
          ${endpoint} does not know this server yet. A token that may write is kept on the server's machine, where every
          program of the hub looks for it.
        </p>
        <${TextField} label="Token" secret value=${token} placeholder="hf_…" error=${fault} onInput=${setToken} />
        <div class="row"><button type="submit" class="primary" disabled=${!token.trim()}>Keep it</button></div>
      </form>`;
  }

  function Form({ fields, endpoint }) {
    const [fault, setFault] = hooks.useState(null);
    const [busy, setBusy] = hooks.useState(false);
    const param = paramOf(fault);
    const start = async (event) => {
      event.preventDefault();
      setBusy(true);
      setFault(null);
      try {
        const body = { kind: "push", parameters: parametersOf(fields, app.query.peek()) };
        kit.keep({ job: (await app.api.json("/api/jobs", { body })).id });
      } catch (problem) {
        setFault(problem);
      }
      setBusy(false);
    };
    return html`
      <form class="card stack" aria-label="Push" onSubmit=${start}>
        <p class="hint">To ${endpoint}, with a card that says what it is and where it comes from.</p>
        ${fields.map(
          (field) =>
            html`<${Entry} key=${field.name} field=${field} error=${param === field.name ? fault.message : undefined} />`,
        )}
        ${fault && !fields.some(({ name }) => name === param) && html`<p class="error trouble" role="alert">${fault.message}</p>`}
        <div class="row"><button type="submit" class="primary" disabled=${busy}>Push</button></div>
      </form>`;
  }
}
