import { useSignal } from "@preact/signals";
import { key } from "../../api/key";
import { type Exchange, exchangeOf, newest } from "../../chat/exchanges";
import type { Chat } from "../../chat/library";
import { Copy } from "../../chat/markdown/code";
import { curl, python } from "../../chat/snippets";
import { path } from "../../chat/tree";
import { Button } from "../../parts/button";
import { useView } from "./view";

type Tab = "request" | "events" | "curl" | "python";

const TABS: readonly (readonly [Tab, string])[] = [
  ["request", "Request"],
  ["events", "Events"],
  ["curl", "curl"],
  ["python", "Python"],
];
const SHOWN = 400;

/** What went over the wire for an answer, and how to ask the same from elsewhere. */
export function Inspector({ chat }: { chat: Chat }) {
  const { panel, inspected } = useView();
  const tab = useSignal<Tab>("request");
  const turns = path(chat.state.value).filter((turn) => turn.role === "assistant");
  const chosen = turns.find((turn) => turn.id === inspected.value) ?? turns.at(-1);
  newest.value; // shown again when another exchange begins
  const exchange = chosen && exchangeOf(chosen.id);
  return (
    <aside class="panel inspector" aria-label="Inspector">
      <header>
        <h2>Inspector</h2>
        <Button
          kind="plain"
          icon="close"
          label="Close inspector"
          onClick={() => {
            panel.value = "none";
          }}
        />
      </header>
      <fieldset class="row plain">
        <legend class="unseen">What to show</legend>
        {TABS.map(([name, title]) => (
          <Button
            key={name}
            pressed={tab.value === name}
            onClick={() => {
              tab.value = name;
            }}
          >
            {title}
          </Button>
        ))}
      </fieldset>
      {exchange ? (
        <Contents exchange={exchange} tab={tab.value} />
      ) : (
        <p class="hint">
          {chosen
            ? "What went over the wire is forgotten when the page is left. Regenerate the answer to see it."
            : "Ask something to see the request and its events."}
        </p>
      )}
    </aside>
  );
}

function Contents({ exchange, tab }: { exchange: Exchange; tab: Tab }) {
  const keyed = key.value !== "";
  if (tab === "events") return <Events exchange={exchange} />;
  const text = {
    request: () => JSON.stringify(exchange.body, null, 2),
    curl: () => curl(exchange, location.origin, keyed),
    python: () => python(exchange, location.origin, keyed),
  }[tab]();
  return (
    <>
      <div class="row">
        {tab === "request" && <code>POST {exchange.path}</code>}
        <span class="grow" />
        <Copy text={text} label={`Copy ${tab}`} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <pre class="wire" tabIndex={0}>
        {text}
      </pre>
    </>
  );
}

function Events({ exchange }: { exchange: Exchange }) {
  exchange.changes.value; // shown again when more have come
  const { events } = exchange;
  const first = Math.max(0, events.length - SHOWN);
  return (
    <>
      <div class="row">
        <span class="hint">
          {events.length} events{first > 0 ? `, the last ${SHOWN} of them here` : ""}
        </span>
        <span class="grow" />
        <Copy text={events.join("\n")} label="Copy events" />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <ol class="wire" start={first + 1} tabIndex={0}>
        {events.slice(first).map((event, place) => (
          <li key={first + place}>
            <code>{event}</code>
          </li>
        ))}
      </ol>
    </>
  );
}
