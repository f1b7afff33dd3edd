import type { PluginReport } from "../../api/answers";
import type { Polled } from "../../api/polled";

const KINDS: readonly (readonly [kind: string, title: string])[] = [
  ["families", "Families of models"],
  ["vision_towers", "Eyes"],
  ["tool_formats", "Formats of tool calls"],
  ["thinking_formats", "Formats of thinking"],
  ["protocols", "APIs"],
  ["sampler_stages", "Sampler stages"],
  ["constraints", "Shapes of answers"],
];

/** What plugins add, by kind: who installs one more sees here what has come. */
export function Brought({ plugins }: { readonly plugins: Polled<{ plugins: PluginReport[] }> }) {
  const on = plugins.value?.plugins.filter((each) => each.state === "on") ?? [];
  return (
    <section aria-label="What plugins add">
      <h2>What plugins add</h2>
      {plugins.problem && <p class="hint error">{plugins.problem.message}</p>}
      <div class="grid">
        {KINDS.map(([kind, title]) => {
          const found = on.flatMap((each) =>
            (each.brings[kind] ?? []).map((name) => ({ name, by: each.name })),
          );
          return found.length === 0 ? null : (
            <article key={kind} class="card">
              <h3>{title}</h3>
              <ul class="plainlist tight">
                {found.map(({ name, by }) => (
                  <li key={name}>
                    {name} {by !== name && <span class="hint">from {by}</span>}
                  </li>
                ))}
              </ul>
            </article>
          );
        })}
      </div>
    </section>
  );
}
