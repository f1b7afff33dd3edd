import { signal } from "@preact/signals";
import { json } from "../api/client";
import { ICONS } from "../parts/icon";
import { notify } from "../shell/notices";
import type { Mount } from "./page";

/** A page of the navigation; its code is fetched on the first visit. */
export interface Listed {
  readonly id: string;
  readonly title: string;
  /** The `d` of an SVG path in a box of 24 by 24. */
  readonly icon: string;
  readonly order: number;
  readonly load: () => Promise<{ default: Mount }>;
}

/** Pages of the app itself. One more is one more line here. */
const OWN: readonly Listed[] = [
  { id: "chat", title: "Chat", icon: ICONS.chat, order: 10, load: () => import("./chat/page") },
  { id: "models", title: "Models", icon: ICONS.models, order: 20, load: () => import("./models/page") },
  { id: "server", title: "Server", icon: ICONS.server, order: 90, load: () => import("./server/page") },
];

export const pages = signal(OWN);

/** Whether the pages of plugins are known. */
export const complete = signal(false);

interface Brought extends Omit<Listed, "load"> {
  readonly module: string;
}

/** Ask the server for the pages that plugins bring. */
export async function findPages(): Promise<void> {
  try {
    const brought = await json<Brought[]>("/webui/pages");
    const theirs = brought.map(({ module, ...rest }) => ({
      ...rest,
      load: () => import(/* @vite-ignore */ module) as Promise<{ default: Mount }>,
    }));
    pages.value = [...OWN, ...theirs].sort((a, b) => a.order - b.order || a.id.localeCompare(b.id));
  } catch (error) {
    notify(`The pages of plugins are missing: ${(error as Error).message}`, "error");
  }
  complete.value = true;
}
