import { signal } from "@preact/signals";

export type Query = Readonly<Record<string, string>>;

/** Where the app is: `#/chat/17?at=2` -> page `chat`, rest `["17"]`, query `{ at: "2" }`. */
export interface Place {
  readonly page: string;
  readonly rest: readonly string[];
  readonly query: Query;
}

export const FIRST_PAGE = "chat";

export const place = signal(read(location.hash));

export function read(hash: string): Place {
  const [parts = "", ...queries] = hash.replace(/^#?\/?/, "").split("?");
  const [page, ...rest] = parts.split("/").filter(Boolean).map(decoded);
  return {
    page: page ?? FIRST_PAGE,
    rest,
    query: Object.fromEntries(new URLSearchParams(queries.join("?"))),
  };
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

export interface Going {
  /** Leave no step to come back to. */
  readonly replace?: boolean;
  readonly query?: Query;
}

/** Go to a place. */
export function navigate(parts: readonly string[], { replace = false, query = {} }: Going = {}): void {
  const asked = new URLSearchParams(query).toString();
  const to = asked ? `${address(...parts)}?${asked}` : address(...parts);
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
