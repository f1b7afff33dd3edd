import type { ModelCard, Stats } from "../../api/answers";
import { format, Meter, Plot } from "../../parts";
import type { Moment } from "./history";
import { memoryParts } from "./memory";

interface Props {
  readonly stats: Stats;
  readonly models: readonly ModelCard[];
  readonly moments: readonly Moment[];
}

const HEIGHT = 190;

/** Charts of the last ten minutes, and memory as it is now. */
export function Live({ stats, models, moments }: Props) {
  const xs = moments.map((moment) => moment.at);
  const of = (read: (moment: Moment) => number | null) => moments.map(read);
  return (
    <section aria-label="Live">
      <div class="grid charts">
        <article class="card">
          <h2>Tokens per second</h2>
          <Plot
            label="Tokens per second"
            time
            height={HEIGHT}
            unit={format.count}
            xs={xs}
            series={[
              { name: "written", values: of((moment) => moment.drawnPerS), filled: true },
              { name: "read", values: of((moment) => moment.readPerS) },
            ]}
          />
        </article>
        <article class="card">
          <h2>Rows and queue</h2>
          <Plot
            label={`Rows of ${stats.batch.configured} and queue of ${stats.queue.limit}`}
            time
            height={HEIGHT}
            unit={format.count}
            xs={xs}
            series={[
              { name: "answering", values: of((moment) => moment.running), filled: true },
              { name: "reading", values: of((moment) => moment.prefilling) },
              { name: "waiting", values: of((moment) => moment.waiting) },
            ]}
          />
        </article>
        <article class="card wide">
          <h2>Memory</h2>
          <Memory stats={stats} models={models} />
          <Plot
            label="Memory in use"
            time
            height={120}
            unit={format.bytes}
            xs={xs}
            series={[{ name: "in use", values: of((moment) => moment.activeBytes), filled: true }]}
          />
        </article>
      </div>
    </section>
  );
}

function Memory({ stats, models }: Omit<Props, "moments">) {
  const { usable_bytes, active_bytes, peak_bytes, max_safe_context } = stats.admission;
  const most =
    max_safe_context === null
      ? ""
      : `; contexts of up to ${max_safe_context.toLocaleString("en")} tokens fit`;
  return (
    <Meter
      label={`${format.bytes(active_bytes)} in use, ${format.bytes(peak_bytes)} at most`}
      totalText={usable_bytes ? `of ${format.bytes(usable_bytes)}${most}` : "nobody counts what may be used"}
      parts={memoryParts(stats, models)}
      total={usable_bytes || peak_bytes}
      tone={usable_bytes > 0 && active_bytes > usable_bytes ? "over" : "normal"}
    />
  );
}
