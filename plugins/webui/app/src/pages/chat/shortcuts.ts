import type { Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Chat } from "../../chat/library";
import { navigate } from "../../shell/router";
import type { Panel } from "./view";

interface State {
  readonly chat: Chat | null;
  readonly panel: Signal<Panel>;
  readonly listed: Signal<boolean>;
}

/** Keys and what they do, as the list of them tells it. */
export const SHORTCUTS: readonly (readonly [keys: string, does: string])[] = [
  ["Enter", "Send"],
  ["Shift Enter", "New line"],
  ["Escape", "Stop the answer; close what is open"],
  ["↑ in an empty message", "Edit the last message"],
  ["Alt N", "New chat"],
  ["Alt F", "Search conversations"],
  ["Alt O", "Options"],
  ["Alt I", "Inspector"],
  ["Alt M", "Write a message"],
];

export function useShortcuts({ chat, panel, listed }: State): void {
  useEffect(() => {
    const toggle = (which: Panel) => {
      panel.value = panel.value === which ? "none" : which;
    };
    const actions: Readonly<Record<string, () => void>> = {
      KeyN: () => navigate(["chat"]),
      KeyF: () => {
        listed.value = true;
        requestAnimationFrame(() => focus("#search-conversations"));
      },
      KeyO: () => toggle("options"),
      KeyI: () => toggle("inspector"),
      KeyM: () => focus("#message"),
    };
    const press = (event: KeyboardEvent) => {
      if (document.querySelector("dialog[open]")) return;
      const action = event.altKey && !event.ctrlKey && !event.metaKey ? actions[event.code] : undefined;
      if (action) {
        event.preventDefault();
        action();
      } else if (event.key === "Escape") {
        if (chat?.running.peek()) chat.running.peek()?.stop();
        else if (listed.value) listed.value = false;
        else panel.value = "none";
      }
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [chat]);
}

function focus(selector: string): void {
  document.querySelector<HTMLElement>(selector)?.focus();
}
