import { type Signal, signal } from "@preact/signals";

/** A request and what came back, as the inspector shows it; kept until the page is left. */
export interface Exchange {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly events: string[];
  /** Counts what happened to it, since `events` grows in place. */
  readonly changes: Signal<number>;
}

const MOST = 200;
const kept = new Map<string, Exchange>();

/** The turn whose exchange was begun last. */
export const newest = signal<string | null>(null);

export function beginExchange(turn: string, path: string, body: Exchange["body"]): Exchange {
  const exchange = { path, body, events: [], changes: signal(0) };
  kept.delete(turn);
  kept.set(turn, exchange);
  const oldest = kept.keys().next().value;
  if (kept.size > MOST && oldest) kept.delete(oldest);
  newest.value = turn;
  return exchange;
}

export function exchangeOf(turn: string): Exchange | undefined {
  return kept.get(turn);
}
