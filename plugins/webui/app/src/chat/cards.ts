import { computed, signal } from "@preact/signals";
import { json } from "../api/client";

/** A model as `/v1/models` tells it. */
export interface Card {
  readonly id: string;
  readonly family: string;
  readonly context_window: number;
  readonly vision: boolean;
  readonly tools: boolean;
  readonly reasoning: boolean;
  readonly adapters: readonly string[];
  readonly state: "loaded" | "loading" | "on disk";
  readonly capabilities: { readonly chat: boolean };
  /** What the model itself recommends. */
  readonly defaults: Drawing;
  /** What holds here for a request that does not say: the server's settings over the model's recommendations. */
  readonly usual: Drawing;
}

/** How tokens are drawn. */
export interface Drawing {
  readonly temperature: number | null;
  readonly top_p: number | null;
  readonly top_k: number | null;
  readonly min_p: number | null;
  readonly repetition_penalty: number | null;
}

export const cards = signal<readonly Card[]>([]);

/** Why the list of models is not known; empty when it is. */
export const cardsFault = signal("");

export const byId = computed(() => new Map(cards.value.map((card) => [card.id, card])));

/** Return the card of a model; an empty name is the default model, the first one. */
export function cardOf(model: string): Card | undefined {
  return byId.value.get(model) ?? cards.value[0];
}

export async function readCards(): Promise<void> {
  try {
    cards.value = (await json<{ data: Card[] }>("/v1/models")).data;
    cardsFault.value = "";
  } catch (error) {
    cardsFault.value = (error as Error).message;
  }
}
