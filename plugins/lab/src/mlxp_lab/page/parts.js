/** Parts of the lab's pages that the app does not have. */

const TONES = { done: "badge on", failed: "badge bad" };

export function partsOf({ html, hooks, Field, format }) {
  /** How a job is, in a word. */
  function State({ job }) {
    const word = job.paused ? "paused" : job.cancel_at && job.state === "running" ? "stopping" : job.state;
    return html`<span class=${TONES[job.state] ?? "badge"}>${word}</span>`;
  }

  /** How far a job is, as a bar and in words. */
  function Progress({ job }) {
    const left = job.state === "running" && job.left_s !== null ? `${format.seconds(job.left_s)} left` : "";
    const said = [format.percent(job.progress), left].filter(Boolean).join(", ");
    return html`
      <div class="progress">
        <progress max="1" value=${job.progress} aria-label=${`Progress of ${job.title}`}></progress>
        <span class="hint">${said}</span>
      </div>`;
  }

  /** The steps of a wizard, and where one is. */
  function Steps({ steps, at }) {
    return html`
      <ol class="steps" aria-label="Steps">
        ${steps.map(
          (step, place) => html`
            <li key=${step} class=${place < at ? "past" : undefined} aria-current=${place === at ? "step" : undefined}>
              ${step}
            </li>`,
        )}
      </ol>`;
  }

  /** One line of text with proposals. */
  function Proposed({ value, proposals, onInput, placeholder, ...named }) {
    const list = `${hooks.useId()}-list`;
    return html`
      <${Field} ...${named}>
        ${(attributes) => html`
          <input ...${attributes} type="text" value=${value} placeholder=${placeholder} list=${list}
            spellcheck=${false} autocomplete="off" onInput=${(event) => onInput(event.currentTarget.value)} />
          <datalist id=${list}>${proposals.map((each) => html`<option key=${each} value=${each} />`)}</datalist>`}
      <//>`;
  }

  /** Names and what they stand for; what is empty is left out. */
  function Facts({ facts }) {
    return html`
      <dl class="facts">
        ${Object.entries(facts)
          .filter(([, value]) => value !== null && value !== undefined && value !== "")
          .map(([name, value]) => html`<dt key=${name}>${name}</dt><dd>${said(value)}</dd>`)}
      </dl>`;
  }

  return { State, Progress, Steps, Proposed, Facts };
}

/** A value of JSON for people. */
function said(value) {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number" && !Number.isInteger(value)) return String(Number(value.toPrecision(5)));
  if (Array.isArray(value) && value.every((each) => typeof each !== "object"))
    return value.map(said).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
