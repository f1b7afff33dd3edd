import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Cause, ModelCard, Stats } from "../src/api/answers";
import { tally } from "../src/pages/server/causes";
import { KEPT, later, NOTHING } from "../src/pages/server/history";
import { memoryParts } from "../src/pages/server/memory";

function stats(
  drawn: number,
  { read = 0, startedAt = 1, ...admission } = {} as Record<string, number>,
): Stats {
  return {
    server: { started_at: startedAt },
    queue: { running: 1, prefilling: 0, waiting: 0 },
    totals: { drawn_tokens: drawn, read_tokens: read },
    admission: { active_bytes: 0, usable_bytes: 0, cache_bytes: 0, ...admission },
    prompt_cache: null,
  } as unknown as Stats;
}

describe("history", () => {
  test("speeds are since the moment before", () => {
    const once = later(NOTHING, stats(100, { read: 10 }), 50);
    const twice = later(once, stats(130, { read: 70 }), 52);
    expect(once.moments.at(-1)?.drawnPerS).toBeNull();
    expect(twice.moments.at(-1)).toMatchObject({ drawnPerS: 15, readPerS: 30 });
  });

  test.each([
    ["a restart", stats(5, { startedAt: 2 }), 51],
    ["counters that fell", stats(5), 51],
    ["a long pause", stats(500), 90],
    ["the same moment", stats(500), 50],
  ])("%s leaves a gap", (_, next, at) => {
    expect(later(later(NOTHING, stats(100), 50), next, at).moments.at(-1)?.drawnPerS).toBeNull();
  });

  test("the oldest moments are forgotten, and speeds add up to the tokens", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(50), { minLength: 1, maxLength: KEPT + 20 }), (steps) => {
        let history = NOTHING;
        let total = 0;
        steps.forEach((step, second) => {
          total += step;
          history = later(history, stats(total), second);
        });
        const speeds = history.moments.map((moment) => moment.drawnPerS ?? 0);
        expect(history.moments.length).toBe(Math.min(steps.length, KEPT));
        const counted = steps.slice(1).slice(-speeds.length);
        expect(speeds.reduce((sum, speed) => sum + speed, 0)).toBeCloseTo(
          counted.reduce((sum, step) => sum + step, 0),
        );
      }),
      { numRuns: 30 },
    );
  });
});

describe("memory", () => {
  const loaded = { state: "loaded", weight_bytes: 30 } as ModelCard;
  const away = { state: "on disk", weight_bytes: 1000 } as ModelCard;

  test("what nobody claims is other, and models on disk take nothing", () => {
    const told = stats(0, { active_bytes: 100, usable_bytes: 400, cache_bytes: 20 });
    const parts = Object.fromEntries(memoryParts(told, [loaded, away]).map((part) => [part.name, part]));
    expect([parts.weights?.value, parts.rows?.value, parts.other?.value]).toEqual([30, 20, 50]);
    expect(parts.free?.text).toBe("300 B");
  });

  test("the parts never exceed what is there because more is named than measured", () => {
    const told = stats(0, { active_bytes: 10, usable_bytes: 40, cache_bytes: 20 });
    const parts = memoryParts(told, [loaded]);
    expect(parts.every((part) => part.value >= 0)).toBe(true);
    expect(parts.find((part) => part.name === "free")?.text).toBe("0 B");
  });
});

test("every prompt is counted once under its cause", () => {
  const cause = fc.constantFrom<Cause>("none", "empty", "different", "no_checkpoint", "evicted", "off");
  const prompt = fc.record({ cause, cached: fc.nat(100), more: fc.nat(100) });
  fc.assert(
    fc.property(fc.array(prompt), (prompts) => {
      const recent = prompts.map(({ cause, cached, more }) => ({
        request_id: "r",
        shared: cached,
        prompt: cached + more,
        cached,
        cause,
      }));
      const found = tally(recent);
      const sum = (read: (row: (typeof found)[number]) => number) =>
        found.reduce((all, row) => all + read(row), 0);
      expect(sum((row) => row.prompts)).toBe(prompts.length);
      expect(sum((row) => row.read)).toBe(prompts.reduce((all, each) => all + each.more, 0));
      expect(new Set(found.map((row) => row.cause)).size).toBe(found.length);
    }),
  );
});
