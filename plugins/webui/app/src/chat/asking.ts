import { cardOf } from "./cards";
import type { Options, Tool, Turn } from "./model";
import { builtInTools, toolsOf } from "./tools";
import type { Asked } from "./wire";

/** Make a request of options and turns. Throws an `Error` that names what was typed wrongly. */
export function askedOf(options: Options, turns: readonly Turn[]): Asked {
  return {
    model: options.model || (cardOf("")?.id ?? ""),
    turns: turns.filter((turn) => turn.parts.length > 0),
    options,
    tools: toolsIn(options),
    schema: named("The schema", () => objectOf(options.schema)),
    fields: named("Further fields", () => objectOf(options.fields)) ?? {},
  };
}

export function toolsIn(options: Options): readonly Tool[] {
  const own = named("The tools", () => toolsOf(options.ownTools));
  return [...builtInTools.filter((tool) => options.builtIn.includes(tool.name)), ...own];
}

function objectOf(json: string): Readonly<Record<string, unknown>> | null {
  if (!json.trim()) return null;
  const value: unknown = JSON.parse(json);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Error("a JSON object is expected: {…}");
  }
  return value as Record<string, unknown>;
}

function named<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new Error(`${what}: ${(error as Error).message}`);
  }
}
