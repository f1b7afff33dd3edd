import type { ModelCard, Stats } from "../../api/answers";
import * as format from "../../parts/format";
import type { Part } from "../../parts/meter";

/** Memory by what it is spent on. What is measured and belongs to none of the others is "other"; the rest is free. */
export function memoryParts(stats: Stats, models: readonly ModelCard[]): Part[] {
  const { admission, prompt_cache } = stats;
  const weights = models
    .filter((model) => model.state === "loaded")
    .reduce((sum, model) => sum + model.weight_bytes, 0);
  const known: [string, number][] = [
    ["weights", weights],
    ["rows", admission.cache_bytes],
    ["prompt cache", prompt_cache?.bytes ?? 0],
  ];
  const named = known.reduce((sum, [, bytes]) => sum + bytes, 0);
  const other = Math.max(0, admission.active_bytes - named);
  const free = Math.max(0, admission.usable_bytes - named - other);
  const all: [string, number][] = [...known, ["other", other]];
  const parts = all.map(([name, value]) => ({ name, value, text: format.bytes(value) }));
  if (admission.usable_bytes > 0) parts.push({ name: "free", value: 0, text: format.bytes(free) });
  return parts;
}
