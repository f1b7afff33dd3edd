import fc from "fast-check";
import { expect, test } from "vitest";
import { Answer } from "../src/chat/answer";
import type { Said } from "../src/chat/wire";

const SAID: fc.Arbitrary<Said> = fc.oneof(
  fc.string().map((text): Said => ({ kind: "text", text })),
  fc.string().map((text): Said => ({ kind: "thought", text })),
  fc.nat(3).map((key): Said => ({ kind: "call", key: String(key), id: `c${key}`, name: "f" })),
  fc
    .record({ key: fc.nat(3).map(String), text: fc.string() })
    .map((told): Said => ({ kind: "arguments", ...told })),
);

function told(all: readonly Said[]) {
  const answer = new Answer(0);
  all.forEach((said, place) => {
    answer.add(said, place + 1);
  });
  answer.end(all.length + 1, "stop");
  return answer;
}

test("no word is lost and none is twice, in their order", () => {
  fc.assert(
    fc.property(fc.array(SAID), (all) => {
      for (const kind of ["text", "thought"] as const) {
        const given = all.map((said) => (said.kind === kind ? said.text : "")).join("");
        const kept = told(all)
          .now()
          .map((part) => (part.kind === kind ? part.text : ""))
          .join("");
        expect(kept).toBe(given);
      }
    }),
  );
});

test("pieces cut otherwise make the same parts", () => {
  fc.assert(
    fc.property(fc.array(SAID), (all) => {
      const letters = all.flatMap((said) =>
        said.kind === "text" || said.kind === "thought" || said.kind === "arguments"
          ? [...said.text].map((text): Said => ({ ...said, text }))
          : [said],
      );
      const plain = (parts: ReturnType<Answer["now"]>) =>
        parts.map((part) => (part.kind === "thought" ? { ...part, seconds: 0 } : part));
      expect(plain(told(letters).now())).toEqual(plain(told(all).now()));
    }),
  );
});

test("a thought knows how long it took, and the answer when it began", () => {
  const answer = new Answer(10);
  answer.add({ kind: "thought", text: "hm" }, 12);
  answer.add({ kind: "thought", text: "m" }, 13);
  answer.add({ kind: "text", text: "so" }, 15);
  answer.add({ kind: "end", reason: "stop" }, 16);
  answer.end(16);
  expect(answer.now()[0]).toEqual({ kind: "thought", text: "hmm", seconds: 3 });
  expect(answer.report("m", "p")).toMatchObject({ firstTokenS: 2, writingS: 3, reason: "stop" });
});

test("what is continued grows on", () => {
  const answer = new Answer(0, [{ kind: "text", text: "one " }]);
  answer.add({ kind: "text", text: "two" }, 1);
  expect(answer.now()).toEqual([{ kind: "text", text: "one two" }]);
});

test("an answer that told no end broke off, and one that was stopped did not", () => {
  const broken = new Answer(0);
  broken.end(1);
  expect(broken.fault).not.toBeNull();
  const stopped = new Answer(0);
  stopped.end(1, "stopped");
  expect(stopped.fault).toBeNull();
  const refused = new Answer(0);
  refused.add({ kind: "fault", message: "no" }, 1);
  refused.end(1);
  expect(refused.fault).toBe("no");
});
