import fc from "fast-check";
import { expect, test } from "vitest";
import { Blocks } from "../src/chat/markdown/blocks";

const PIECE = fc.constantFrom(
  ...[
    "word ",
    "\n",
    "\n\n",
    "# ",
    "- ",
    "1. ",
    "\r\n",
    "\r",
    "> ",
    "```",
    "```py\n",
    "~~~",
    "`",
    "**",
    "|a|b|\n|-|-|\n",
  ],
  ...[
    "$$",
    "$x$",
    "\\[",
    "\\]",
    "---\n",
    "    ",
    "\t",
    "[a]: b\n",
    "[a]",
    "<div>",
    "</div>",
    "é👩‍👧",
    "===\n",
  ],
);
const TEXT = fc.array(PIECE, { maxLength: 40 }).map((pieces) => pieces.join(""));

const raws = (text: string, blocks: Blocks, whole: boolean) =>
  blocks.of(text, whole).map(({ at, token }) => [at, token.raw] as const);

const length = (pairs: readonly (readonly [number, string])[]) =>
  pairs.reduce((sum, [, raw]) => sum + raw.length, 0);

test("however an answer grew, once it is whole its blocks are those of the whole text", () => {
  fc.assert(
    fc.property(TEXT, fc.array(fc.nat(), { maxLength: 6 }), (text, places) => {
      const blocks = new Blocks();
      for (const end of places.map((place) => place % (text.length + 1)).sort((a, b) => a - b)) {
        blocks.of(text.slice(0, end), false);
      }
      expect(raws(text, blocks, true)).toEqual(raws(text, new Blocks(), true));
    }),
  );
});

test("while it grows nothing is lost and nothing is twice", () => {
  fc.assert(
    fc.property(TEXT, fc.nat(), (text, cut) => {
      const blocks = new Blocks();
      for (const end of [cut % (text.length + 1), text.length]) {
        const plain = text.slice(0, end).replace(/\r\n|\r/g, "\n");
        const shown = raws(text.slice(0, end), blocks, false);
        expect(length(shown)).toBe(plain.length);
        // marked spells some white space anew, as long as it was
        for (const [at, raw] of shown)
          expect(raw.split(/\s+/)).toEqual(plain.slice(at, at + raw.length).split(/\s+/));
      }
    }),
  );
});

test("blocks that ended stay the very same", () => {
  const blocks = new Blocks();
  const [first] = blocks.of("one\n\ntwo", false);
  expect(blocks.of("one\n\ntwo and three\n\nfour", false)[0]).toBe(first);
});
