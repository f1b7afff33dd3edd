import type { ServerEvent } from "../../api/sse";
import type { CallPart, Options, Part, Turn } from "../model";
import {
  type Asked,
  argumentsOf,
  extension,
  type Json,
  number,
  object,
  read,
  type Said,
  said,
  text,
  type Wire,
} from "./wire";

/** The protocol wants a limit; this one is sent where none was set. */
const MAX_TOKENS = 4096;

export const anthropic: Wire = {
  name: "anthropic",
  title: "Anthropic messages",
  path: "/v1/messages",
  lacks: ["minP", "repetitionPenalty"],
  body,
  reader,
};

function body({ model, turns, options, tools, schema, fields }: Asked): Json {
  return {
    ...said({
      model,
      max_tokens: options.maxTokens ?? MAX_TOKENS,
      system: options.system.trim() ? options.system : null,
      messages: turns.flatMap(messages),
      stream: true,
      temperature: options.temperature === null ? null : Math.min(1, options.temperature),
      top_p: options.topP,
      top_k: options.topK,
      seed: options.seed,
      thinking: thinking(options),
      adapter: options.adapters.length ? options.adapters.join("+") : null,
      output_config: schema && { format: { type: "json_schema", schema } },
      tools: tools.length
        ? tools.map(({ parameters, ...tool }) => ({ ...tool, input_schema: parameters }))
        : null,
    }),
    ...fields,
  };
}

function thinking({ thinking: wanted }: Options): Json | null {
  if (wanted === "default") return null;
  return { type: wanted === "on" ? "adaptive" : "disabled" };
}

function messages(turn: Turn): Json[] {
  if (turn.role === "user") return [{ role: "user", content: turn.parts.flatMap(block) }];
  const calls = turn.parts.filter((part): part is CallPart => part.kind === "call");
  const results = calls.map((call) => ({
    type: "tool_result",
    tool_use_id: call.id,
    content: call.result ?? "",
    ...(call.failed ? { is_error: true } : {}),
  }));
  const answer = { role: "assistant", content: turn.parts.flatMap(block) };
  return results.length ? [answer, { role: "user", content: results }] : [answer];
}

function block(part: Part): Json[] {
  switch (part.kind) {
    case "text":
      return part.text ? [{ type: "text", text: part.text }] : [];
    case "thought":
      return [{ type: "thinking", thinking: part.text, signature: "" }];
    case "call":
      return [{ type: "tool_use", id: part.id, name: part.name, input: argumentsOf(part.arguments) }];
    case "image": {
      const [, media_type = "image/png", data = ""] = /^data:([^;]+);base64,(.*)$/s.exec(part.url) ?? [];
      return [{ type: "image", source: { type: "base64", media_type, data } }];
    }
  }
}

const REASONS = { end_turn: "stop", stop_sequence: "stop", max_tokens: "length", tool_use: "calls" } as const;

function reader(): (event: ServerEvent) => readonly Said[] {
  return ({ data }) => reading(read(data));
}

function reading(event: Json): readonly Said[] {
  const key = String(event.index);
  switch (event.type) {
    case "message_start":
      return [...extension(object(event.message).mlxp)];
    case "content_block_start": {
      const started = object(event.content_block);
      if (started.type !== "tool_use") return [];
      return [{ kind: "call", key, id: text(started.id), name: text(started.name) }];
    }
    case "content_block_delta":
      return delta(object(event.delta), key);
    case "message_delta":
      return ending(event);
    case "error":
      return [{ kind: "fault", message: text(object(event.error).message) || "the answer broke off" }];
    default:
      return [];
  }
}

function delta(told: Json, key: string): readonly Said[] {
  switch (told.type) {
    case "text_delta":
      return [{ kind: "text", text: text(told.text) }];
    case "thinking_delta":
      return [{ kind: "thought", text: text(told.thinking) }];
    case "input_json_delta":
      return [{ kind: "arguments", key, text: text(told.partial_json) }];
    default:
      return [];
  }
}

function ending(event: Json): readonly Said[] {
  const usage = object(event.usage);
  const cached = number(usage.cache_read_input_tokens);
  const tokens = {
    prompt: number(usage.input_tokens) + cached,
    cached,
    completion: number(usage.output_tokens),
    thinking: number(object(usage.output_tokens_details).thinking_tokens),
  };
  const reason = REASONS[object(event.delta).stop_reason as keyof typeof REASONS] ?? "stop";
  return [{ kind: "tokens", tokens }, { kind: "end", reason }, ...extension(event.mlxp)];
}
