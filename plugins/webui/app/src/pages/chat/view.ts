import type { Signal } from "@preact/signals";
import { createContext } from "preact";
import { useContext } from "preact/hooks";

export type Panel = "none" | "options" | "inspector";

/** What of the page is open. */
export interface ViewState {
  readonly panel: Signal<Panel>;
  /** The turn in the inspector; `null` = the newest. */
  readonly inspected: Signal<string | null>;
  /** Whether the list of conversations is shown where it takes room from the conversation. */
  readonly listed: Signal<boolean>;
}

export const View = createContext<ViewState | null>(null);

export function useView(): ViewState {
  const view = useContext(View);
  if (!view) throw new Error("this part belongs inside the chat page");
  return view;
}
