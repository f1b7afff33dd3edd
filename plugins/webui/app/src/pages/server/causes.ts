import type { Cause, PromptCache } from "../../api/answers";

/** Why not more of a prompt came from the cache, in a few words. */
export const CAUSES: Readonly<Record<Cause, string>> = {
  none: "all that is known was taken",
  empty: "nothing was known yet",
  different: "the prompt is another from there on",
  no_checkpoint: "no checkpoint to go back to",
  evicted: "had to make room",
  off: "nothing is reused",
};

export interface Tally {
  readonly cause: Cause;
  readonly prompts: number;
  /** Tokens that had to be read. */
  readonly read: number;
}

/** Count the last prompts by cause, the most frequent first. */
export function tally(recent: PromptCache["recent"]): Tally[] {
  const found = new Map<Cause, Tally>();
  for (const { cause, prompt, cached } of recent) {
    const before = found.get(cause) ?? { cause, prompts: 0, read: 0 };
    found.set(cause, { cause, prompts: before.prompts + 1, read: before.read + prompt - cached });
  }
  return [...found.values()].sort((a, b) => b.prompts - a.prompts || a.cause.localeCompare(b.cause));
}
