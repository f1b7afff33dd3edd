import type { WireName } from "../model";
import { anthropic } from "./anthropic";
import { openaiChat } from "./openai-chat";
import { responses } from "./responses";
import type { Wire } from "./wire";

export type { Asked, Said, Wire } from "./wire";

export const WIRES: readonly Wire[] = [openaiChat, responses, anthropic];

export function wireOf(name: WireName): Wire {
  return WIRES.find((wire) => wire.name === name) ?? openaiChat;
}
