/** The step that takes a model and a dataset, and looks at the one through the eyes of the other. */

const METHODS = [
  ["", "the answers (SFT)"],
  ["dpo", "which of two answers is better (DPO)"],
  ["orpo", "answers, and which is better (ORPO)"],
];

export function lookOf(kit) {
  const { html, hooks, app, Proposed, Select, Facts, format } = kit;

  /** `onTold` is called with whether the dataset can be learned from. */
  return function Look({ onTold }) {
    const { model = "", data = "", method = "", seen } = app.query.value;
    const { found, fault } = useInspection({ model, data, method, seen }, onTold);
    const models = kit.usePolled("/api/lab/models", 0).value?.models ?? [];
    const datasets = kit.usePolled("/api/datasets", 0).value?.datasets ?? [];
    const set = (name) => (value) => kit.keep({ [name]: value, seen: "" });
    const busy = seen && !found && !fault;
    const look = (event) => {
      event.preventDefault();
      kit.keep({ seen: "yes" });
    };
    return html`
      <form class="card stack" aria-label="Model and data" onSubmit=${look}>
        <${Proposed} label="Model" value=${model} placeholder="a name or a folder" proposals=${models.map(({ name }) => name)}
          onInput=${set("model")} />
        <${Proposed} label="Dataset" value=${data} placeholder="a name or a file" proposals=${datasets.map(({ name }) => name)}
          hint=${html`<a href=${kit.address("datasets")}>All datasets</a>`} onInput=${set("data")} />
        <${Select} label="What it learns" value=${method} options=${METHODS} onChange=${set("method")} />
        ${fault && html`<p class="error trouble" role="alert">${fault}</p>`}
        <div class="row">
          <button type="submit" class=${seen ? undefined : "primary"} disabled=${!model || !data || busy}>Look at it</button>
          <span class="hint" role="status">${busy ? "looking…" : ""}</span>
        </div>
      </form>
      ${found && html`<${Found} found=${found} />`}`;
  };

  function useInspection({ model, data, method, seen }, onTold) {
    const [told, setTold] = hooks.useState({});
    hooks.useEffect(() => {
      setTold({});
      onTold(false);
      if (!seen || !model || !data) return undefined;
      const left = new AbortController();
      const body = { model, data, ...(method ? { method } : {}) };
      app.api.json("/api/train/inspect", { body, signal: left.signal }).then(
        (found) => {
          setTold({ found });
          onTold(found.good);
        },
        (problem) => left.signal.aborted || setTold({ fault: problem.message }),
      );
      return () => left.abort();
    }, [model, data, method, seen]);
    return told;
  }

  function Found({ found }) {
    const { tokens } = found;
    return html`
      <section class="card stack" aria-label="Data">
        <h2>${found.good ? "It can be learned from" : "It cannot be learned from yet"}</h2>
        <${Facts} facts=${{
          Rows: `${found.rows} to learn from, ${found.valid_rows} to look at meanwhile`,
          Tokens:
            tokens &&
            `${format.count(tokens.total)}; a row has ${tokens.least} to ${tokens.most}, ${tokens.median} in the middle`,
          Learned:
            tokens &&
            `${format.count(found.learned)} tokens, ${format.percent(found.learned / Math.max(1, tokens.total))}`,
          "Too long": found.dropped > 0 ? `${found.dropped} rows, of which nothing would be left` : "",
        }} />
        ${
          found.faults.length > 0 &&
          html`
          <details open>
            <summary class="error">${found.faulty} lines cannot be learned from</summary>
            <ul class="remarks">
              ${found.faults.map(({ split, line, message }) => html`<li key=${`${split}${line}`}>${split}, line ${line}: ${message}</li>`)}
            </ul>
          </details>`
        }
        ${
          found.sample.length > 0 &&
          html`
          <details>
            <summary>The first row as the model reads it; what is marked is learned</summary>
            <pre class="sample">${found.sample.map(({ text, learned }, at) => (learned ? html`<mark key=${at}>${text}</mark>` : text))}</pre>
          </details>`
        }
      </section>`;
  }
}
