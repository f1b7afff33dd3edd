import { askKey, key } from "./key";
import { messageOf, Problem } from "./problem";
import { eventsOf, type ServerEvent } from "./sse";

export interface Sent {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

const UNAUTHORIZED = 401;

/** Send a request with the key in use; asks for a key and tries again where the server wants one. Throws `Problem`. */
export async function send(path: string, sent: Sent = {}): Promise<Response> {
  for (;;) {
    const used = key.value;
    const response = await attempt(path, sent, used);
    if (response.ok) return response;
    if (response.status !== UNAUTHORIZED || !(key.value !== used || (await askKey()))) {
      throw await problemOf(response);
    }
  }
}

async function attempt(path: string, sent: Sent, used: string): Promise<Response> {
  const headers = new Headers(sent.headers);
  if (used) headers.set("authorization", `Bearer ${used}`);
  const init: RequestInit = { method: sent.method ?? (sent.body === undefined ? "GET" : "POST"), headers };
  if (sent.body !== undefined) {
    headers.set("content-type", "application/json");
    init.body = JSON.stringify(sent.body);
  }
  if (sent.signal) init.signal = sent.signal;
  try {
    return await fetch(path, init);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Problem("the server cannot be reached", 0);
  }
}

async function problemOf(response: Response): Promise<Problem> {
  const text = await response.text();
  let body: unknown = text;
  try {
    body = JSON.parse(text);
  } catch {
    // a body that is no JSON is its own message
  }
  return new Problem(messageOf(body, response.status), response.status, body);
}

/** GET a path, or send a body to it, and return the JSON of the answer. */
export async function json<T>(path: string, sent: Sent = {}): Promise<T> {
  return (await send(path, sent)).json() as Promise<T>;
}

/** Send a request, and yield the server-sent events of its answer. */
export async function* events(path: string, sent: Sent = {}): AsyncGenerator<ServerEvent> {
  const { body } = await send(path, sent);
  if (body) yield* eventsOf(body);
}
