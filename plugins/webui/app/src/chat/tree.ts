import type { Conversation, Options, Part, Turn } from "./model";

const TITLE_LENGTH = 60;

export function newId(): string {
  return crypto.randomUUID();
}

export function begun(options: Options, now: number): Conversation {
  return {
    id: newId(),
    title: "New chat",
    named: false,
    created: now,
    updated: now,
    options,
    turns: {},
    leaf: null,
  };
}

/** Return the turns from the first to `leaf`. */
export function path(conversation: Conversation, leaf = conversation.leaf): readonly Turn[] {
  const turns: Turn[] = [];
  for (let at = leaf; at !== null; ) {
    const turn: Turn | undefined = conversation.turns[at];
    if (!turn || turns.includes(turn)) break;
    turns.push(turn);
    at = turn.parent;
  }
  return turns.reverse();
}

/** Return the turns that follow the same one, in the order they were made; `turn` is among them. */
export function siblings(conversation: Conversation, turn: Turn): readonly Turn[] {
  return childrenOf(conversation, turn.parent);
}

function childrenOf(conversation: Conversation, parent: string | null): readonly Turn[] {
  return Object.values(conversation.turns)
    .filter((each) => each.parent === parent)
    .sort((a, b) => a.created - b.created);
}

/** Show the branch that `turn` is on: down from it, the newest turns. */
export function shown(conversation: Conversation, turn: Turn): Conversation {
  let leaf = turn;
  for (;;) {
    const next = childrenOf(conversation, leaf.id).at(-1);
    if (!next) return { ...conversation, leaf: leaf.id };
    leaf = next;
  }
}

/** Add a turn, and show it. The first words that are said give the conversation its title. */
export function added(conversation: Conversation, turn: Turn): Conversation {
  const titled = conversation.named || turn.role !== "user" || conversation.leaf !== null;
  return {
    ...conversation,
    title: titled ? conversation.title : titleOf(turn.parts) || conversation.title,
    turns: { ...conversation.turns, [turn.id]: turn },
    leaf: turn.id,
    updated: turn.created,
  };
}

/** Change a turn; one that is gone stays gone. */
export function changed(
  conversation: Conversation,
  id: string,
  change: (turn: Turn) => Turn,
  now: number,
): Conversation {
  const turn = conversation.turns[id];
  if (!turn) return conversation;
  return { ...conversation, updated: now, turns: { ...conversation.turns, [id]: change(turn) } };
}

function titleOf(parts: readonly Part[]): string {
  const text = textOf(parts).replace(/\s+/g, " ").trim();
  return text.length > TITLE_LENGTH ? `${text.slice(0, TITLE_LENGTH - 1)}…` : text;
}

/** Return what was said, without thoughts, calls and pictures. */
export function textOf(parts: readonly Part[]): string {
  return parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
}
