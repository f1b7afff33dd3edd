/** The lab: jobs, and what starts them, as sections of one page of the web app. */

import { kitOf } from "./kit.js";

/** `kind`: a section that is of use where there is such a kind of job. `led`: one that others lead to. */
const SECTIONS = [
  { id: "jobs", title: "Jobs", load: () => import("./jobs/section.js") },
  { id: "quantize", title: "Quantize", load: () => import("./quantize/section.js") },
  { id: "datasets", title: "Datasets", load: () => import("./datasets/section.js") },
  { id: "finetune", title: "Fine-tune", kind: "train", load: () => import("./finetune/section.js") },
  { id: "compare", title: "Compare", load: () => import("./compare/section.js") },
  { id: "push", title: "Push", led: true, load: () => import("./push/section.js") },
];

/** @param {HTMLElement} element @param {any} app */
export default function mount(element, app) {
  const kit = kitOf(app);
  const { html, preact, signals } = kit;
  const shown = signals.signal({ id: "", Section: null, fault: "" });
  const sectionOf = ([id]) => SECTIONS.find((each) => each.id === id) ?? SECTIONS[0];

  function Lab() {
    const current = sectionOf(app.rest.value);
    const kinds = kit.useKinds().map(({ name }) => name);
    const offered = SECTIONS.filter(
      (each) => each === current || (!each.led && (each.kind === undefined || kinds.includes(each.kind))),
    );
    const { id, Section, fault } = shown.value;
    return html`
      <link rel="stylesheet" href=${new URL("page.css", import.meta.url).href} />
      <div class="content lab">
        <header class="row spread">
          <h1>Lab</h1>
          <nav class="sections" aria-label="Lab">
            ${offered.map(
              (each) => html`
                <a key=${each.id} href=${kit.address(each.id)} aria-current=${each === current ? "page" : undefined}>
                  ${each.title}
                </a>`,
            )}
          </nav>
        </header>
        ${fault && html`<p class="fault">${fault}</p>`}
        ${Section && id === current.id && html`<${Section} key=${id} />`}
      </div>`;
  }

  const made = new Map();
  const forget = signals.effect(() => {
    const { id, load } = sectionOf(app.rest.value);
    if (!made.has(id))
      made.set(
        id,
        load().then((module) => module.default(kit)),
      );
    made.get(id).then(
      (Section) => {
        shown.value = { id, Section, fault: "" };
      },
      (error) => {
        made.delete(id);
        shown.value = { id, Section: null, fault: error.message };
      },
    );
  });
  preact.render(html`<${Lab} />`, element);
  return () => {
    forget();
    preact.render(null, element);
  };
}
