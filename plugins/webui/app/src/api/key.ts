import { signal } from "@preact/signals";

const NAME = "mlxp.key";

/** The API key in use; empty where the server takes none. */
export const key = signal(sessionStorage.getItem(NAME) ?? localStorage.getItem(NAME) ?? "");

/** Whether the server refused what we had, and somebody waits for another key. */
export const keyWanted = signal(false);

let waiting: ((given: boolean) => void)[] = [];

/** Use a key from now on; it outlives the tab only if asked to. */
export function giveKey(text: string, remember: boolean): void {
  key.value = text;
  sessionStorage.setItem(NAME, text);
  if (remember) localStorage.setItem(NAME, text);
  else localStorage.removeItem(NAME);
  settle(true);
}

/** Go on without. */
export function refuseKey(): void {
  settle(false);
}

/** Ask for a key; true once there is one. Several callers wait for the same one. */
export function askKey(): Promise<boolean> {
  keyWanted.value = true;
  return new Promise((resolve) => {
    waiting.push(resolve);
  });
}

function settle(given: boolean): void {
  keyWanted.value = false;
  const all = waiting;
  waiting = [];
  for (const resolve of all) resolve(given);
}
