import type { ServerEvent } from "../../api/sse";
import type { Options, Part, Turn } from "../model";
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

export const responses: Wire = {
  name: "openai-responses",
  title: "OpenAI responses",
  path: "/v1/responses",
  lacks: [],
  body,
  reader: () => reading,
};

function body({ model, turns, options, tools, schema, fields }: Asked): Json {
  return {
    ...said({
      model,
      instructions: options.system.trim() ? options.system : null,
      input: turns.flatMap(items),
      stream: true,
      store: false,
      temperature: options.temperature,
      top_p: options.topP,
      top_k: options.topK,
      min_p: options.minP,
      repetition_penalty: options.repetitionPenalty,
      max_output_tokens: options.maxTokens,
      seed: options.seed,
      reasoning: reasoning(options),
      adapter: options.adapters.length ? options.adapters.join("+") : null,
      text: schema && { format: { type: "json_schema", name: "answer", schema } },
      tools: tools.length ? tools.map((tool) => ({ type: "function", ...tool })) : null,
    }),
    ...fields,
  };
}

function reasoning({ thinking }: Options): Json | null {
  if (thinking === "default") return null;
  return { effort: thinking === "on" ? "medium" : "none" };
}

function items(turn: Turn): Json[] {
  if (turn.role === "user") return [{ role: "user", content: turn.parts.flatMap(shown) }];
  const outputs = turn.parts.flatMap((part) =>
    part.kind === "call"
      ? [{ type: "function_call_output", call_id: part.id, output: part.result ?? "" }]
      : [],
  );
  return [...turn.parts.flatMap(answered), ...outputs];
}

function shown(part: Part): Json[] {
  if (part.kind === "image") return [{ type: "input_image", image_url: part.url }];
  return part.kind === "text" && part.text ? [{ type: "input_text", text: part.text }] : [];
}

function answered(part: Part): Json[] {
  switch (part.kind) {
    case "text":
      return [{ role: "assistant", content: [{ type: "output_text", text: part.text }] }];
    case "thought":
      return [{ type: "reasoning", summary: [{ type: "summary_text", text: part.text }] }];
    case "call":
      return [{ type: "function_call", call_id: part.id, name: part.name, arguments: part.arguments }];
    default:
      return [];
  }
}

function reading({ data }: ServerEvent): readonly Said[] {
  const event = read(data);
  const key = String(event.output_index);
  switch (event.type) {
    case "response.created":
      return [...extension(object(event.response).mlxp)];
    case "response.output_text.delta":
      return [{ kind: "text", text: text(event.delta) }];
    case "response.reasoning_summary_text.delta":
      return [{ kind: "thought", text: text(event.delta) }];
    case "response.output_item.added":
      return item(object(event.item), key);
    case "response.function_call_arguments.delta":
      return [{ kind: "arguments", key, text: text(event.delta) }];
    case "response.completed":
    case "response.incomplete":
    case "response.failed":
      return ending(object(event.response));
    case "error":
      return [{ kind: "fault", message: text(event.message) || "the answer broke off" }];
    default:
      return [];
  }
}

function item(value: Json, key: string): readonly Said[] {
  if (value.type !== "function_call") return [];
  return [{ kind: "call", key, id: text(value.call_id), name: text(value.name) }];
}

function ending(response: Json): readonly Said[] {
  const usage = object(response.usage);
  const found: Said[] = [];
  if (response.usage) {
    const tokens = {
      prompt: number(usage.input_tokens),
      cached: number(object(usage.input_tokens_details).cached_tokens),
      completion: number(usage.output_tokens),
      thinking: number(object(usage.output_tokens_details).reasoning_tokens),
    };
    found.push({ kind: "tokens", tokens });
  }
  if (response.status === "failed") {
    found.push({ kind: "fault", message: text(object(response.error).message) || "the answer broke off" });
  } else if (response.status === "incomplete") {
    const cut = object(response.incomplete_details).reason === "max_output_tokens";
    found.push({ kind: "end", reason: cut ? "length" : "stopped" });
  } else {
    const called = list(response.output).some((each) => object(each).type === "function_call");
    found.push({ kind: "end", reason: called ? "calls" : "stop" });
  }
  return [...found, ...extension(response.mlxp)];
}
