import type { EndedChoice } from "../../api/answers";
import { format } from "../../parts";

/** Tokens per second after the first one, in words. */
export function speed(row: EndedChoice): string {
  return row.completion_tokens > 1 && row.decode_s > 0
    ? `${format.count((row.completion_tokens - 1) / row.decode_s)}/s`
    : "–";
}
