import type { PromptCache } from "../../api/answers";
import { type Column, format, Meter, Table } from "../../parts";
import { CAUSES, type Tally, tally } from "./causes";

/** What the prompt cache holds, how often it helped, and why not more. */
export function Cache({ cache }: { readonly cache: PromptCache }) {
  const asked = cache.hits + cache.misses;
  return (
    <section aria-label="Prompt cache">
      <h2>Prompt cache</h2>
      <div class="grid">
        <article class="card">
          <p class="big">{asked === 0 ? "no prompts yet" : `${format.percent(cache.hits / asked)} hits`}</p>
          <p class="hint">
            {cache.hits} of {asked} prompts, {format.count(cache.hit_tokens)} tokens not read again
          </p>
          <Meter
            label="In memory"
            parts={[
              { name: `${cache.entries} checkpoints`, value: cache.bytes, text: format.bytes(cache.bytes) },
            ]}
            total={cache.max_bytes}
            totalText={`of ${format.bytes(cache.max_bytes)}`}
          />
          {cache.disk && (
            <Meter
              label="On disk"
              parts={[
                {
                  name: `${cache.disk.entries} checkpoints`,
                  value: cache.disk.bytes,
                  text: format.bytes(cache.disk.bytes),
                },
              ]}
              total={cache.disk.max_bytes}
              totalText={`of ${format.bytes(cache.disk.max_bytes)}`}
            />
          )}
          {[cache.off, cache.disk?.off].map((off) => off && <p class="hint error">{off}</p>)}
        </article>
        <article class="card">
          <h3>Why not more</h3>
          <Table
            caption="The last prompts by why not more of them came from the cache"
            columns={COLUMNS}
            rows={tally(cache.recent)}
            rowKey={(row) => row.cause}
            empty="No prompts yet."
          />
        </article>
      </div>
    </section>
  );
}

const COLUMNS: Column<Tally>[] = [
  { title: "Cause", cell: (row) => CAUSES[row.cause] },
  { title: "Prompts", numeric: true, cell: (row) => row.prompts },
  { title: "Tokens read", numeric: true, cell: (row) => format.count(row.read) },
];
