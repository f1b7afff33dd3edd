import * as signals from "@preact/signals";
import htm from "htm";
import * as preact from "preact";
import * as hooks from "preact/hooks";
import { events, json, type Sent, send } from "../api/client";
import type { ServerEvent } from "../api/sse";
import type { Draft } from "../chat/draft";
import { openDraft } from "../chat/draft";
import * as parts from "../parts";
import { notify } from "./notices";
import { type Going, navigate, place, type Query } from "./router";
import { sanitized } from "./sanitize";
import { theme } from "./theme";

/** What every page is given, ours and a stranger's alike. See PAGES.md. */
export interface App {
  /** Talk to the server with the key in use. */
  readonly api: {
    readonly json: <T>(path: string, sent?: Sent) => Promise<T>;
    readonly events: (path: string, sent?: Sent) => AsyncGenerator<ServerEvent>;
    readonly send: (path: string, sent?: Sent) => Promise<Response>;
  };
  /** What follows the page's id in the address. */
  readonly rest: signals.ReadonlySignal<readonly string[]>;
  /** What stands behind a `?` in the address: what a page would have again after a reload. */
  readonly query: signals.ReadonlySignal<Query>;
  readonly theme: signals.ReadonlySignal<"light" | "dark">;
  /** Go to a page: `navigate(["chat"])`. */
  readonly navigate: (parts: readonly string[], options?: Going) => void;
  /** Say something in passing; errors stay until put away. */
  readonly notify: (text: string, kind?: "info" | "error") => void;
  /** Open the chat page with a new conversation that begins like this. */
  readonly chat: (draft: Draft) => Promise<void>;
  /** Preact, its hooks and signals, and the parts that pages are made of; `html` is JSX without a compiler. */
  readonly ui: typeof parts & {
    /** Markup without anything that acts or loads; the only text that the browser takes as markup. */
    readonly sanitized: (markup: string) => string;
    readonly preact: typeof preact;
    readonly hooks: typeof hooks;
    readonly signals: typeof signals;
    readonly html: (strings: TemplateStringsArray, ...values: unknown[]) => preact.VNode | preact.VNode[];
  };
}

export const app: App = {
  api: { json, events, send },
  rest: signals.computed(() => place.value.rest),
  query: signals.computed(() => place.value.query),
  theme,
  navigate,
  notify,
  chat: openDraft,
  ui: { ...parts, sanitized, preact, hooks, signals, html: htm.bind(preact.h) as App["ui"]["html"] },
};
