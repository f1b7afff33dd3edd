import { signal } from "@preact/signals";
import { navigate } from "../shell/router";
import { create } from "./library";
import { PLAIN } from "./model";
import { lastOptions } from "./options";

/** How a new conversation begins, where another page opens it. */
export interface Draft {
  readonly text?: string;
  readonly model?: string;
  /** Mounted adapters that it uses. */
  readonly adapters?: readonly string[];
  /** Further fields of its requests, such as `{ sampler_stages: { ... } }`. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** Conversation -> the text that stands in its composer. */
export const drafts = signal<Readonly<Record<string, string>>>({});

export async function openDraft({ text = "", model, adapters, fields }: Draft): Promise<void> {
  const chat = create({
    ...PLAIN,
    ...lastOptions(),
    ...(model === undefined ? {} : { model }),
    ...(adapters === undefined ? {} : { adapters }),
    fields: fields ? JSON.stringify(fields, null, 2) : "",
  });
  drafts.value = { ...drafts.peek(), [chat.id]: text };
  navigate(["chat", chat.id]);
}
