/** The same request for a terminal and for a script. */

import type { Exchange } from "./exchanges";

type Request = Pick<Exchange, "path" | "body">;

/** Return a command for a POSIX shell. A key, where one is needed, is read from `$MLXP_KEY`. */
export function curl({ path, body }: Request, origin: string, keyed: boolean): string {
  const lines = [
    `curl -N ${quoted(`${origin}${path}`)}`,
    ...(keyed ? [`-H "authorization: Bearer $MLXP_KEY"`] : []),
    `-H 'content-type: application/json'`,
    `-d ${quoted(JSON.stringify(body))}`,
  ];
  return lines.join(" \\\n  ");
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

const CLIENTS: Readonly<Record<string, readonly [module: string, made: string, called: string]>> = {
  "/v1/chat/completions": ["openai", "OpenAI", "chat.completions.create"],
  "/v1/responses": ["openai", "OpenAI", "responses.create"],
  "/v1/messages": ["anthropic", "Anthropic", "messages.create"],
};

/** Fields that the official clients take under their own names; others go into `extra_body`. */
const OWN = new Set(
  [
    ["model", "messages", "stream", "stream_options", "temperature", "top_p", "max_tokens", "seed", "tools"],
    ["reasoning_effort", "response_format", "tool_choice", "stop", "input", "instructions", "store", "text"],
    ["max_output_tokens", "reasoning", "system", "thinking", "top_k", "stop_sequences", "output_config"],
  ].flat(),
);
const FOREIGN: Readonly<Record<string, readonly string[]>> = {
  "/v1/chat/completions": ["top_k"],
  "/v1/responses": ["top_k", "seed"],
  "/v1/messages": ["seed"],
};

/** Return a script with the official client of the protocol. */
export function python({ path, body }: Request, origin: string, keyed: boolean): string {
  const [module, made, called] = CLIENTS[path] ?? ["openai", "OpenAI", "post"];
  const foreign = new Set(FOREIGN[path]);
  const own = Object.entries(body).filter(([name]) => OWN.has(name) && !foreign.has(name));
  const extra = Object.entries(body).filter(([name]) => !OWN.has(name) || foreign.has(name));
  const base = module === "anthropic" ? origin : `${origin}/v1`;
  const given = [
    ...own.map(([name, value]) => `    ${name}=${literal(value, 1)},`),
    ...(extra.length ? [`    extra_body=${literal(Object.fromEntries(extra), 1)},`] : []),
  ];
  return [
    ...(keyed ? ["import os", ""] : []),
    `from ${module} import ${made}`,
    "",
    `client = ${made}(base_url=${literal(base, 0)}, api_key=${keyed ? 'os.environ["MLXP_KEY"]' : '"none"'})`,
    `stream = client.${called}(`,
    ...given,
    ")",
    "for event in stream:",
    "    print(event)",
    "",
  ].join("\n");
}

/** Write a JSON value as Python does. */
function literal(value: unknown, depth: number): string {
  const inner = "    ".repeat(depth + 1);
  const outer = "    ".repeat(depth);
  if (value === null || value === undefined) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const items = Array.isArray(value)
    ? value.map((each) => literal(each, depth + 1))
    : Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${literal(each, depth + 1)}`);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  if (!items.length) return `${open}${close}`;
  return `${open}\n${items.map((item) => `${inner}${item},`).join("\n")}\n${outer}${close}`;
}
