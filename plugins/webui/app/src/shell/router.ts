import { signal } from "@preact/signals";

/** Where the app is: a page's id, and what follows it in the address (`#/chat/17` -> `chat`, `["17"]`). */
export interface Place {
  readonly page: string;
  readonly rest: readonly string[];
}

export const FIRST_PAGE = "chat";

export const place = signal(read(location.hash));

export function read(hash: string): Place {
  const [page, ...rest] = hash
    .replace(/^#?\/?/, "")
    .split("/")
    .filter(Boolean)
    .map(decoded);
  return { page: page ?? FIRST_PAGE, rest };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Return the address of a place. */
export function address(...parts: string[]): string {
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

/** Go to a place; `replace` leaves no step to come back to. */
export function navigate(parts: readonly string[], { replace = false } = {}): void {
  const to = address(...parts);
  if (replace) history.replaceState(null, "", to);
  else if (location.hash !== to) history.pushState(null, "", to);
  place.value = read(to);
}

window.addEventListener("hashchange", () => {
  place.value = read(location.hash);
});
window.addEventListener("popstate", () => {
  place.value = read(location.hash);
});
