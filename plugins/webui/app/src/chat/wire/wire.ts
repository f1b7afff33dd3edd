import type { ServerEvent } from "../../api/sse";
import type { Options, Reason, Tokens, Tool, Turn, WireName } from "../model";

/** What is to be asked, whatever the protocol. */
export interface Asked {
  readonly model: string;
  readonly turns: readonly Turn[];
  readonly options: Options;
  readonly tools: readonly Tool[];
  readonly schema: Readonly<Record<string, unknown>> | null;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** What an event of a stream says, whatever the protocol. */
export type Said =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "thought"; readonly text: string }
  | { readonly kind: "call"; readonly key: string; readonly id: string; readonly name: string }
  | { readonly kind: "arguments"; readonly key: string; readonly text: string }
  | { readonly kind: "tokens"; readonly tokens: Tokens }
  | { readonly kind: "seed"; readonly seed: number }
  | { readonly kind: "warnings"; readonly warnings: readonly string[] }
  | { readonly kind: "end"; readonly reason: Reason }
  | { readonly kind: "fault"; readonly message: string };

/** Options that a protocol may have no field for. */
export type Lacking = "temperature" | "topK" | "minP" | "repetitionPenalty";

/** A protocol as a client sees it. */
export interface Wire {
  readonly name: WireName;
  readonly title: string;
  readonly path: string;
  readonly lacks: readonly Lacking[];
  readonly body: (asked: Asked) => Record<string, unknown>;
  /** Makes a reader of one stream. It passes over what it does not know. */
  readonly reader: () => (event: ServerEvent) => readonly Said[];
}

export type Json = Record<string, unknown>;

/** Read an event's data; what is no object says nothing. */
export function read(data: string): Json {
  try {
    const value: unknown = JSON.parse(data);
    return object(value);
  } catch {
    return {};
  }
}

export function object(value: unknown): Json {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function number(value: unknown): number {
  return typeof value === "number" ? value : 0;
}

/** What the server adds under `mlxp`: the seed in use, diagnostics, and whether the answer was cancelled. */
export function* extension(value: unknown): Generator<Said> {
  const { seed, warnings, cancelled } = object(value);
  if (typeof seed === "number") yield { kind: "seed", seed };
  const told = list(warnings).filter((each): each is string => typeof each === "string");
  if (told.length) yield { kind: "warnings", warnings: told };
  if (cancelled === true) yield { kind: "end", reason: "stopped" };
}

/** Leave out what is not said. */
export function said(fields: Json): Json {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== null && value !== undefined),
  );
}

/** Return a call's arguments as a value, for protocols that want one; what is no JSON object is passed on as text. */
export function argumentsOf(json: string): Json {
  try {
    const value: unknown = JSON.parse(json || "{}");
    return typeof value === "object" && value !== null ? (value as Json) : { value };
  } catch {
    return { text: json };
  }
}
