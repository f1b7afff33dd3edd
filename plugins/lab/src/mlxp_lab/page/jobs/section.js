/** Jobs: `#/lab/jobs` lists them, `#/lab/jobs/<id>` shows one, `#/lab/jobs/new/<kind>` starts one. */

import { jobViewOf } from "./job.js";
import { jobListOf } from "./list.js";
import { newJobOf } from "./new.js";

export default function jobsOf(kit) {
  const { html, app } = kit;
  const JobList = jobListOf(kit);
  const JobView = jobViewOf(kit);
  const NewJob = newJobOf(kit);

  return function Jobs() {
    const [, id, kind] = app.rest.value;
    if (!id) return html`<${JobList} />`;
    const inner =
      id === "new"
        ? html`<${NewJob} key=${kind} name=${kind ?? ""} />`
        : html`<${JobView} key=${id} id=${id} onOther=${(other) => (other ? kit.go("jobs", other) : kit.go("jobs"))} />`;
    return html`
      <div class="stack">
        <p class="back"><a href=${kit.address("jobs")}>All jobs</a></p>
        ${inner}
      </div>`;
  };
}
