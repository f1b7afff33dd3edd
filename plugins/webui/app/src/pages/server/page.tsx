import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ModelCard, Stats } from "../../api/answers";
import { usePolled } from "../../api/polled";
import { format } from "../../parts";
import { type PageProps, pageOf } from "../page";
import { Cache } from "./cache";
import { Fits } from "./fits";
import { later, NOTHING } from "./history";
import { Live } from "./live";
import { Plugins } from "./plugins";
import { Requests } from "./requests";
import { Settings } from "./settings";
import "./page.css";

const OFTEN_S = 1;
const NOW_AND_THEN_S = 10;

const history = signal(NOTHING);

function ServerPage({ app, rest }: PageProps) {
  const stats = usePolled<Stats>("/stats", OFTEN_S);
  const models = usePolled<{ data: ModelCard[] }>("/v1/models", NOW_AND_THEN_S);
  const cards = models.value?.data ?? [];

  useEffect(() => {
    if (stats.value) history.value = later(history.peek(), stats.value, Date.now() / 1000);
  }, [stats.value]);

  return (
    <div class="content server">
      <h1>Server</h1>
      {stats.problem && <p class="hint error">{stats.problem.message}</p>}
      {stats.value && (
        <>
          <State stats={stats.value} />
          <Live stats={stats.value} models={cards} moments={history.value.moments} />
          {stats.value.prompt_cache && <Cache cache={stats.value.prompt_cache} />}
        </>
      )}
      <Requests app={app} opened={rest.value[0] ?? null} />
      <Plugins />
      <Fits models={cards} />
      <Settings />
    </div>
  );
}

function State({ stats }: { readonly stats: Stats }) {
  const { server, totals, timings } = stats;
  return (
    <p class="row">
      <span class={server.state === "ready" ? "badge on" : "badge bad"}>{server.state}</span>
      <span>
        mlxp {server.version}, up for{" "}
        {format.seconds(Math.round(Date.now() / 1000 - server.started_at / 1000))}
      </span>
      <span class="hint">
        {totals.finished} finished, {totals.failed} failed, {totals.cancelled} cancelled
        {totals.guessed_tokens > 0 &&
          `; ${format.percent(totals.accepted_tokens / totals.guessed_tokens)} of ${format.count(totals.guessed_tokens)} guessed tokens were right`}
        {timings.ttft_s > 0 &&
          `; first token after ${format.seconds(timings.ttft_s)}, then ${format.count(timings.tokens_per_s)} tokens/s`}
      </span>
      {server.fault && <span class="hint error">{server.fault}</span>}
    </p>
  );
}

export default pageOf(ServerPage);
