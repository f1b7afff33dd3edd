import { useState } from "preact/hooks";
import type { Download, ModelCard, PluginReport } from "../../api/answers";
import { usePolled } from "../../api/polled";
import { Select } from "../../parts";
import type { App } from "../../shell/app";
import { type PageProps, pageOf } from "../page";
import { Brought } from "./brought";
import { Downloads } from "./downloads";
import { Library } from "./library";
import { Offered } from "./offered";
import "./page.css";

const CONTEXTS = [2048, 8192, 16_384, 32_768, 65_536, 131_072, 262_144];
const USUAL = 8192;
const MOVING_S = 1;
const OFTEN_S = 3;
const SELDOM_S = 60;

function ModelsPage({ app }: PageProps) {
  const [context, setContext] = useState(USUAL);
  const offered = usePolled<{ data: ModelCard[] }>("/v1/models", OFTEN_S);
  const plugins = usePolled<{ plugins: PluginReport[] }>("/v1/plugins", SELDOM_S);
  const hub = plugins.value?.plugins.some((each) => each.name === "hub" && each.state === "on");

  return (
    <div class="content models">
      <header class="row spread">
        <h1>Models</h1>
        <Select
          label="Fit with a context of"
          value={String(context)}
          options={CONTEXTS.map((tokens) => [String(tokens), `${tokens.toLocaleString("en")} tokens`])}
          onChange={(value) => setContext(Number(value))}
        />
      </header>
      <Offered app={app} models={offered} context={context} />
      {hub && <OnDisk app={app} context={context} />}
      <Brought plugins={plugins} />
    </div>
  );
}

/** What the hub's plugin knows: models that are coming, and those that are here. */
function OnDisk({ app, context }: { readonly app: App; readonly context: number }) {
  const downloads = usePolled<{ downloads: Download[] }>("/downloads", MOVING_S);
  const arrived = downloads.value?.downloads.filter((each) => each.state === "done").length ?? 0;
  return (
    <>
      <Downloads app={app} downloads={downloads} />
      <Library context={context} arrived={arrived} />
    </>
  );
}

export default pageOf(ModelsPage);
