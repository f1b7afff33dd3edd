/** A link to the form that puts what was made on the hub, where there is such a kind of job. */

export function pushOf({ html, useKinds, address }) {
  return function Push({ source, kind }) {
    if (!useKinds().some(({ name }) => name === "push")) return null;
    return html`<a class="button" href=${`${address("push")}?${new URLSearchParams({ source, kind })}`}>Put it on the hub</a>`;
  };
}
