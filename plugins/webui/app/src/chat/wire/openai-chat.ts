import type { CallPart, Options, Part, Turn } from "../model";
import { textOf } from "../tree";
import {
  type Asked,
  extension,
  type Json,
  list,
  number,
  object,
  read,
  type Said,
  said,
  text,
  type Wire,
} from "./wire";

export const openaiChat: Wire = {
  name: "openai-chat",
  title: "OpenAI chat",
  path: "/v1/chat/completions",
  lacks: [],
  body,
  reader: () => reading,
};

function body({ model, turns, options, tools, schema, fields }: Asked): Json {
  const system = options.system.trim() ? [{ role: "system", content: options.system }] : [];
  return {
    ...said({
      model,
      messages: [...system, ...turns.flatMap(messages)],
      stream: true,
      stream_options: { include_usage: true },
      temperature: options.temperature,
      top_p: options.topP,
      top_k: options.topK,
      min_p: options.minP,
      repetition_penalty: options.repetitionPenalty,
      max_tokens: options.maxTokens,
      seed: options.seed,
      reasoning_effort: effort(options),
      adapter: options.adapters.length ? options.adapters.join("+") : null,
      response_format: schema && { type: "json_schema", json_schema: { name: "answer", schema } },
      tools: tools.length ? tools.map((tool) => ({ type: "function", function: tool })) : null,
    }),
    ...fields,
  };
}

function effort({ thinking }: Options): string | null {
  if (thinking === "default") return null;
  return thinking === "on" ? "medium" : "none";
}

function messages(turn: Turn): Json[] {
  if (turn.role === "user") return [{ role: "user", content: content(turn.parts) }];
  const calls = turn.parts.filter((part): part is CallPart => part.kind === "call");
  const thoughts = turn.parts.map((part) => (part.kind === "thought" ? part.text : "")).join("");
  const answer = said({
    role: "assistant",
    content: textOf(turn.parts),
    reasoning_content: thoughts || null,
    tool_calls: calls.length
      ? calls.map((call) => ({
          id: call.id,
          type: "function",
          function: { name: call.name, arguments: call.arguments },
        }))
      : null,
  });
  const results = calls.map((call) => ({ role: "tool", tool_call_id: call.id, content: call.result ?? "" }));
  return [answer, ...results];
}

function content(parts: readonly Part[]): unknown {
  if (!parts.some((part) => part.kind === "image")) return textOf(parts);
  return parts.flatMap((part): Json[] => {
    if (part.kind === "image") return [{ type: "image_url", image_url: { url: part.url } }];
    return part.kind === "text" && part.text ? [{ type: "text", text: part.text }] : [];
  });
}

const REASONS = { stop: "stop", length: "length", tool_calls: "calls" } as const;

function* delta(choice: Json): Generator<Said> {
  const told = object(choice.delta);
  const thought = text(told.reasoning_content) || text(told.reasoning);
  if (thought) yield { kind: "thought", text: thought };
  if (text(told.content)) yield { kind: "text", text: text(told.content) };
  for (const call of list(told.tool_calls).map(object)) {
    const key = String(call.index);
    const named = object(call.function);
    if (text(call.id)) yield { kind: "call", key, id: text(call.id), name: text(named.name) };
    if (text(named.arguments)) yield { kind: "arguments", key, text: text(named.arguments) };
  }
}

function reading({ data }: { data: string }): readonly Said[] {
  const chunk = read(data);
  if (chunk.error)
    return [{ kind: "fault", message: text(object(chunk.error).message) || "the answer broke off" }];
  const choice = object(list(chunk.choices)[0]);
  const found: Said[] = [...delta(choice)];
  const reason = REASONS[choice.finish_reason as keyof typeof REASONS];
  if (reason) found.push({ kind: "end", reason });
  found.push(...extension(choice.mlxp));
  if (chunk.usage) found.push({ kind: "tokens", tokens: tokens(object(chunk.usage)) });
  return found;
}

function tokens(usage: Json) {
  return {
    prompt: number(usage.prompt_tokens),
    cached: number(object(usage.prompt_tokens_details).cached_tokens),
    completion: number(usage.completion_tokens),
    thinking: number(object(usage.completion_tokens_details).reasoning_tokens),
  };
}
