/** What a fine-tuning made: an adapter, how good it is, and what to do with it next. */

export function trainedOf(kit) {
  const { html, hooks, app, Facts, Button, format } = kit;

  return function Trained({ job }) {
    const { result } = job;
    const [busy, setBusy] = hooks.useState(false);
    const mount = async () => {
      setBusy(true);
      await kit.attempt(() => compare(job));
      setBusy(false);
    };
    const link = (text, kind, query) => html`
      <a class="button" href=${`${kit.address("jobs", "new", kind)}?${new URLSearchParams(query)}`}>${text}</a>`;
    const adapters = job.output;
    return html`
      <${Facts} facts=${{
        Adapter: result.adapter,
        "Loss at the end": result.train_loss,
        "On held-out rows": result.valid_loss,
        "Best after": result.best_step && `${result.best_step} steps`,
        Learned: `${format.count(result.tokens)} tokens in ${result.steps} steps`,
        Ended: result.stopped_early ? "early, as it became no better" : "",
        "Left out": result.dropped ? `${result.dropped} rows` : "",
        "Is in": job.output,
      }} />
      <div class="row">
        <${Button} kind="primary" icon="chat" disabled=${busy} onClick=${mount}>Mount it and compare<//>
        ${link("Fuse it into the model", "fuse", { model: job.parameters.model, adapters })}
        ${link("Merge or export it", "merge", { adapters })}
        <${kit.Push} source=${job.output} kind="adapter" />
      </div>`;
  };

  /** Mount the adapter on the served model that it was made for, and hold the two against each other. */
  async function compare(job) {
    const { models } = await app.api.json("/api/lab/models");
    const served = models.filter(({ origin }) => origin === "served");
    const model = served.find(({ path }) => path === job.parameters.model)?.name;
    if (!model) throw new Error(`Serve its model first: mlxp serve ${job.parameters.model}`);
    const id = job.output.split("/").at(-1);
    if (job.parameters.replace) await unmounted(id);
    await app.api.json("/v1/adapters", { body: { id, path: job.output, model } });
    app.navigate(["lab", "compare"], { query: { model, adapter_b: id } });
  }

  /** An adapter of that name may be mounted that is not the one in its folder any more. */
  async function unmounted(id) {
    try {
      await app.api.send(`/v1/adapters/${encodeURIComponent(id)}`, { method: "DELETE" });
    } catch (problem) {
      if (problem.status !== 404) throw problem;
    }
  }
}
