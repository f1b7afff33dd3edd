/** Conversations as files: JSON, which can be read back, and Markdown, which people read. */

import { type Conversation, type Part, PLAIN, type Turn } from "./model";
import { path } from "./tree";

const FORMAT = "mlxp-conversations";
const VERSION = 1;

export function toJson(conversations: readonly Conversation[]): string {
  return JSON.stringify({ format: FORMAT, version: VERSION, conversations }, null, 1);
}

/** Read what `toJson` wrote. Throws an `Error` that says what is wrong. */
export function fromJson(text: string): readonly Conversation[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error("this is no JSON file");
  }
  const { format, version, conversations } = (value ?? {}) as Record<string, unknown>;
  if (format !== FORMAT || !Array.isArray(conversations)) throw new Error("this file holds no conversations");
  if (typeof version !== "number" || version > VERSION) throw new Error("this file is of a newer version");
  return conversations.map(checked);
}

/** Return a conversation with what it must have; a tree that does not hold together is refused. */
function checked(value: unknown): Conversation {
  const given = (typeof value === "object" && value !== null ? value : {}) as Partial<Conversation>;
  const turns = Object.entries(given.turns ?? {});
  if (typeof given.id !== "string" || !turns.every(([id, turn]) => isTurn(id, turn, given.turns ?? {}))) {
    throw new Error("a conversation in this file is damaged");
  }
  const leaf = given.leaf && given.turns?.[given.leaf] ? given.leaf : (turns.at(-1)?.[0] ?? null);
  return {
    id: given.id,
    title: String(given.title ?? "Chat"),
    named: given.named === true,
    created: Number(given.created) || 0,
    updated: Number(given.updated) || 0,
    options: { ...PLAIN, ...given.options },
    turns: Object.fromEntries(turns),
    leaf,
  };
}

function isTurn(id: string, turn: Turn, turns: Conversation["turns"]): boolean {
  return (
    turn?.id === id &&
    (turn.role === "user" || turn.role === "assistant") &&
    (turn.parent === null || turns[turn.parent] !== undefined) &&
    Array.isArray(turn.parts) &&
    turn.parts.every(isPart)
  );
}

function isPart(part: Part): boolean {
  switch (part?.kind) {
    case "text":
    case "thought":
      return typeof part.text === "string";
    case "image":
      return typeof part.url === "string" && part.url.startsWith("data:image/");
    case "call":
      return (
        typeof part.id === "string" && typeof part.name === "string" && typeof part.arguments === "string"
      );
    default:
      return false;
  }
}

/** Return the branch that is shown, as Markdown. */
export function toMarkdown(conversation: Conversation): string {
  const turns = path(conversation).map((turn) => {
    const who = turn.role === "user" ? "You" : (turn.report?.model ?? "Model");
    return `## ${who}\n\n${turn.parts.map(written).filter(Boolean).join("\n\n")}\n`;
  });
  const { system } = conversation.options;
  const instructions = system.trim() ? [`> ${system.trim().replaceAll("\n", "\n> ")}\n`] : [];
  return [`# ${conversation.title}\n`, ...instructions, ...turns].join("\n");
}

function written(part: Part): string {
  switch (part.kind) {
    case "text":
      return part.text.trim();
    case "thought":
      return `<details>\n<summary>Thinking</summary>\n\n${part.text.trim()}\n\n</details>`;
    case "image":
      return `*[picture: ${part.name}]*`;
    case "call":
      return [
        `**${part.name}**`,
        fenced(part.arguments, "json"),
        ...(part.result === null ? [] : [fenced(part.result)]),
      ].join("\n\n");
  }
}

/** Put text between fences that are longer than any in it. */
function fenced(text: string, language = ""): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}
