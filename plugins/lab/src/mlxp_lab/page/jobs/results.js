/** What came of a job: by its kind where there is a view for it, else as it was told. */

import { writtenOf } from "../datasets/written.js";
import { trainedOf } from "../finetune/result.js";
import { pushedOf } from "../push/result.js";
import { quantizedOf } from "../quantize/report.js";
import { spelt } from "./curves.js";
import { madeModelOf } from "./model.js";

export function resultsOf(kit) {
  const { html, Facts, Push } = kit;
  const MadeModel = madeModelOf(kit);
  const views = {
    quantize: quantizedOf(kit),
    train: trainedOf(kit),
    fuse: Fused,
    merge: Merged,
    generate: writtenOf(kit),
    push: pushedOf(kit),
  };

  return function Result({ job }) {
    const View = views[job.kind] ?? Told;
    return html`<section class="card stack" aria-label="Result"><h3>Result</h3><${View} job=${job} /></section>`;
  };

  function Fused({ job }) {
    return html`<${MadeModel} folder=${job.output} />`;
  }

  function Merged({ job }) {
    return html`<${Told} job=${job} /><div class="row"><${Push} source=${job.output} kind="adapter" /></div>`;
  }

  function Told({ job }) {
    const told = Object.entries(job.result ?? {}).map(([name, value]) => [spelt(name), value]);
    return html`<${Facts} facts=${{ ...Object.fromEntries(told), ...(job.output ? { "Is in": job.output } : {}) }} />`;
  }
}
