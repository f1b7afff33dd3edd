/** What a job measured, step by step, as lines. */

/** Names of measures that belong in one picture: `loss` and `valid_loss`, `tokens_per_s` by itself. */
export function pictures(steps) {
  const names = new Set([...steps.values()].flatMap(Object.keys));
  const groups = new Map();
  for (const name of names) {
    const last = name.split("_").at(-1);
    groups.set(last === "loss" ? last : name, [...(groups.get(last === "loss" ? last : name) ?? []), name]);
  }
  const xs = [...steps.keys()].sort((a, b) => a - b);
  return [...groups].map(([title, members]) => {
    const seen = xs.filter((step) => members.some((name) => name in steps.get(step)));
    return {
      title: spelt(title),
      xs: seen,
      series: members
        .sort((one, other) => one.length - other.length)
        .map((name) => ({
          name: spelt(name),
          joined: true,
          values: seen.map((step) => steps.get(step)[name] ?? null),
        })),
    };
  });
}

export const spelt = (name) => name.replaceAll("_", " ");

export function curvesOf({ html, Plot }) {
  return function Curves({ steps }) {
    const drawn = pictures(steps).filter(({ xs }) => xs.length > 1);
    if (!drawn.length) return null;
    return html`
      <section class="grid" aria-label="Curves">
        ${drawn.map(
          ({ title, xs, series }) => html`
            <figure key=${title} class="card curve">
              <figcaption>${title}</figcaption>
              <${Plot} label=${title} xs=${xs} series=${series} unit=${short} />
            </figure>`,
        )}
      </section>`;
  };
}

function short(value) {
  const size = Math.abs(value);
  if (size >= 1e9) return `${(value / 1e9).toFixed(1)}G`;
  if (size >= 1e4) return value.toLocaleString("en", { notation: "compact" });
  return String(Number(value.toPrecision(size < 0.01 ? 2 : 4)));
}
