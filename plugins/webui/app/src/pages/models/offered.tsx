import { useState } from "preact/hooks";
import type { Fit, ModelCard } from "../../api/answers";
import { type Polled, usePolled } from "../../api/polled";
import { Button, format } from "../../parts";
import type { App } from "../../shell/app";
import { FitBar } from "./fit";

type Action = "load" | "unload" | "pin" | "unpin";
const SELDOM_S = 30;

interface Props {
  readonly app: App;
  readonly models: Polled<{ data: ModelCard[] }>;
  readonly context: number;
}

/** The models of this server, one card each. */
export function Offered({ app, models, context }: Props) {
  const several = (models.value?.data.length ?? 0) > 1;
  return (
    <section aria-label="On offer">
      <h2>On offer</h2>
      {models.problem && <p class="hint error">{models.problem.message}</p>}
      <div class="grid">
        {models.value?.data.map((card, place) => (
          <ModelCardView
            key={card.id}
            {...{ app, card, context, again: models.again }}
            usual={several && place === 0}
          />
        ))}
      </div>
    </section>
  );
}

interface CardProps {
  readonly app: App;
  readonly card: ModelCard;
  readonly context: number;
  readonly again: () => void;
  /** Whether it answers where a request names no model. */
  readonly usual: boolean;
}

function ModelCardView({ app, card, context, again, usual }: CardProps) {
  const [busy, setBusy] = useState(false);
  const asked = Math.min(context, card.context_window);
  const fit = usePolled<Fit>(
    `/fit?skus=false&model=${encodeURIComponent(card.id)}&context=${asked}`,
    SELDOM_S,
  );

  const act = async (action: Action) => {
    setBusy(true);
    try {
      await app.api.json(`/v1/models/${card.id}/${action}`, { method: "POST" });
    } catch (error) {
      app.notify((error as Error).message, "error");
    }
    setBusy(false);
    again();
  };

  return (
    <article class="card stack" aria-label={card.id}>
      <header>
        <h3>{card.id}</h3>
        <p class="row">
          <span class={card.state === "loaded" ? "badge on" : "badge"}>{card.state}</span>
          {card.pinned && <span class="badge on">pinned</span>}
          {usual && <span class="badge">default</span>}
          {abilities(card).map((ability) => (
            <span key={ability} class="badge">
              {ability}
            </span>
          ))}
        </p>
      </header>
      <Facts card={card} fit={fit.value} />
      {fit.value && <FitBar report={fit.value.report} />}
      {fit.problem && <p class="hint">{fit.problem.message}</p>}
      <div class="row">
        <Button kind="primary" icon="chat" onClick={() => void app.chat({ model: card.id })}>
          Chat
        </Button>
        {card.state === "on disk" ? (
          <Button disabled={busy} onClick={() => void act("load")}>
            Load
          </Button>
        ) : (
          <Button
            disabled={busy || card.pinned || card.state === "loading"}
            onClick={() => void act("unload")}
          >
            Unload
          </Button>
        )}
        <Button disabled={busy} pressed={card.pinned} onClick={() => void act(card.pinned ? "unpin" : "pin")}>
          {card.pinned ? "Unpin" : "Pin"}
        </Button>
      </div>
    </article>
  );
}

function Facts({ card, fit }: { readonly card: ModelCard; readonly fit: Fit | undefined }) {
  const speeds = [
    said(fit?.measured_decode_tps, "measured"),
    said(fit?.report.predicted_decode_tps, "predicted"),
  ].filter((each) => each !== null);
  return (
    <dl class="facts">
      <dt>Family</dt>
      <dd>{card.family}</dd>
      <dt>Weights</dt>
      <dd>{format.bytes(card.weight_bytes)}</dd>
      <dt>Context</dt>
      <dd>{card.context_window.toLocaleString("en")} tokens</dd>
      {speeds.length > 0 && (
        <>
          <dt>Speed</dt>
          <dd>{speeds.join("; ")}</dd>
        </>
      )}
      {card.aliases.length > 0 && (
        <>
          <dt>Also called</dt>
          <dd>{card.aliases.join(", ")}</dd>
        </>
      )}
      {card.adapters.length > 0 && (
        <>
          <dt>Adapters</dt>
          <dd>{card.adapters.join(", ")}</dd>
        </>
      )}
    </dl>
  );
}

function said(speed: number | null | undefined, how: string): string | null {
  return speed == null ? null : `${format.count(speed)} tokens/s ${how}`;
}

function abilities(card: ModelCard): string[] {
  return [card.vision && "sees", card.reasoning && "thinks", card.tools && "calls tools"].filter(
    (each): each is string => each !== false,
  );
}
