/** What a conversation is made of. Plain values: they are stored, exported and compared as they stand. */

export interface TextPart {
  readonly kind: "text";
  readonly text: string;
}

export interface ImagePart {
  readonly kind: "image";
  /** A `data:` URL. */
  readonly url: string;
  readonly name: string;
}

export interface ThoughtPart {
  readonly kind: "thought";
  readonly text: string;
  /** How long it took; `null` while it goes on. */
  readonly seconds: number | null;
}

export interface CallPart {
  readonly kind: "call";
  readonly id: string;
  readonly name: string;
  /** JSON text, as the model spelled it. */
  readonly arguments: string;
  /** What the tool answered; `null` until it has. */
  readonly result: string | null;
  readonly failed: boolean;
}

export type Part = TextPart | ImagePart | ThoughtPart | CallPart;

export interface Tokens {
  readonly prompt: number;
  /** Those of the prompt that came from the prompt cache. */
  readonly cached: number;
  readonly completion: number;
  /** Those of the completion that were thinking. */
  readonly thinking: number;
}

/** Why an answer ended: by itself, at its limit, with calls, or stopped by hand. */
export type Reason = "stop" | "length" | "calls" | "stopped";

export interface Report {
  readonly model: string;
  readonly protocol: string;
  readonly tokens: Tokens | null;
  readonly firstTokenS: number | null;
  /** From the first piece to the last. */
  readonly writingS: number | null;
  readonly seed: number | null;
  readonly reason: Reason | null;
  readonly warnings: readonly string[];
}

export interface Turn {
  readonly id: string;
  /** The turn it follows; `null` begins the conversation. */
  readonly parent: string | null;
  readonly role: "user" | "assistant";
  readonly parts: readonly Part[];
  /** Milliseconds since 1970, as all times here. */
  readonly created: number;
  readonly report?: Report;
  readonly fault?: string;
}

export type Thinking = "default" | "on" | "off";
export type WireName = "openai-chat" | "openai-responses" | "anthropic";

/** What is asked along with the messages; `null` leaves it to the model's own defaults. */
export interface Options {
  readonly model: string;
  readonly protocol: WireName;
  readonly system: string;
  readonly temperature: number | null;
  readonly topP: number | null;
  readonly topK: number | null;
  readonly minP: number | null;
  readonly repetitionPenalty: number | null;
  readonly maxTokens: number | null;
  readonly seed: number | null;
  readonly thinking: Thinking;
  readonly adapters: readonly string[];
  /** JSON text of a schema; empty = free text. */
  readonly schema: string;
  /** Names of built-in tools on offer. */
  readonly builtIn: readonly string[];
  /** JSON text: a list of tools whose results are typed in. */
  readonly ownTools: string;
  /** JSON text: further fields of every request. */
  readonly fields: string;
}

export const PLAIN: Options = {
  model: "",
  protocol: "openai-chat",
  system: "",
  temperature: null,
  topP: null,
  topK: null,
  minP: null,
  repetitionPenalty: null,
  maxTokens: null,
  seed: null,
  thinking: "default",
  adapters: [],
  schema: "",
  builtIn: [],
  ownTools: "",
  fields: "",
};

/** A tree of turns: whoever edits or asks again makes a branch, and nothing is lost. */
export interface Conversation {
  readonly id: string;
  readonly title: string;
  /** Whether somebody gave it its title. */
  readonly named: boolean;
  readonly created: number;
  readonly updated: number;
  readonly options: Options;
  readonly turns: Readonly<Record<string, Turn>>;
  /** The last turn of the branch that is shown. */
  readonly leaf: string | null;
}

/** A tool, as requests offer it. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  /** A JSON schema. */
  readonly parameters: Readonly<Record<string, unknown>>;
}
