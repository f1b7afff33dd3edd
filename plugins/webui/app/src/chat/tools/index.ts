import type { CallPart, Tool } from "../model";
import { argumentsOf } from "../wire/wire";
import { calculate, calculator } from "./calculator";
import { clock, tell } from "./clock";

type Run = (given: Readonly<Record<string, unknown>>) => string;

/** Tools that the browser itself runs. */
const BUILT_IN: readonly (readonly [Tool, Run])[] = [
  [calculator, ({ expression }) => String(calculate(String(expression ?? "")))],
  [clock, ({ time_zone }) => tell(new Date(), typeof time_zone === "string" ? time_zone : undefined)],
];

export const builtInTools: readonly Tool[] = BUILT_IN.map(([tool]) => tool);

/** Return a call with its result, if it is of a built-in tool that is on offer; else `null`. */
export function answered(call: CallPart, offered: readonly string[]): CallPart | null {
  const found = BUILT_IN.find(([tool]) => tool.name === call.name && offered.includes(tool.name));
  if (!found) return null;
  try {
    return { ...call, result: found[1](argumentsOf(call.arguments)), failed: false };
  } catch (error) {
    return { ...call, result: (error as Error).message, failed: true };
  }
}

/** Read a list of tools as JSON. Throws an `Error` that says what is wrong. */
export function toolsOf(json: string): readonly Tool[] {
  if (!json.trim()) return [];
  const value: unknown = JSON.parse(json);
  if (!Array.isArray(value)) throw new Error("a list of tools is expected: [{…}]");
  return value.map((each: Partial<Tool> | null, place) => {
    if (typeof each?.name !== "string" || !each.name) throw new Error(`tool ${place + 1} has no name`);
    return {
      name: each.name,
      description: typeof each.description === "string" ? each.description : "",
      parameters: each.parameters ?? { type: "object", properties: {} },
    };
  });
}
