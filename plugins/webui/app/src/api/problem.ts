/** What a server refused, in words, whatever protocol's shape it came in. */
export class Problem extends Error {
  readonly status: number;
  readonly body: unknown;

  constructor(message: string, status: number, body: unknown = null) {
    super(message);
    this.name = "Problem";
    this.status = status;
    this.body = body;
  }
}

/** Read the message out of an error's body: OpenAI's and Anthropic's shapes, or the text itself. */
export function messageOf(body: unknown, status: number): string {
  if (typeof body === "string" && body.trim()) return body.slice(0, 400);
  const error = field(body, "error");
  const message = field(error, "message") ?? field(body, "message") ?? field(body, "detail");
  if (typeof message === "string" && message) return message;
  return typeof error === "string" && error ? error : `the server answered ${status}`;
}

function field(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
