import fc from "fast-check";
import { expect, test } from "vitest";
import { calculate } from "../src/chat/tools/calculator";

interface Tree {
  readonly text: string;
  readonly value: number;
}

/** Expressions with the value that JavaScript itself gives them. */
const TREE = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    fc.double({ min: 0, max: 1e6, noNaN: true }).map((value) => ({ text: String(value), value })),
    fc.constant({ text: "pi", value: Math.PI }),
    fc.tuple(tie("tree"), fc.constantFrom("+", "-", "*", "/", "%", "^"), tie("tree")).map(([a, sign, b]) => ({
      text: `(${a.text}) ${sign} (${b.text})`,
      value: apply(a.value, sign, b.value),
    })),
    tie("tree").map(({ text, value }) => ({ text: `-(${text})`, value: -value })),
    tie("tree").map(({ text, value }) => ({ text: `abs(${text})`, value: Math.abs(value) })),
  ),
})).tree;

function apply(a: number, sign: string, b: number): number {
  switch (sign) {
    case "+":
      return a + b;
    case "-":
      return a - b;
    case "*":
      return a * b;
    case "/":
      return a / b;
    case "%":
      return a % b;
    default:
      return a ** b;
  }
}

test("it computes what JavaScript computes", () => {
  fc.assert(
    fc.property(TREE, ({ text, value }) => {
      expect(calculate(text)).toBe(value);
    }),
  );
});

test.each([
  ["2 + 3 * 4", 14],
  ["2 ^ 3 ^ 2", 512],
  ["-2 ^ 2", -4],
  ["2 ^ -1", 0.5],
  ["10 - 4 - 3", 3],
  ["2 × 3 ÷ 4", 1.5],
  ["max(1, 2, 3) + sqrt(16)", 7],
  [".5 + 1e3", 1000.5],
])("%s is %d", (text, value) => {
  expect(calculate(text)).toBe(value);
});

test.each([
  "",
  "1 +",
  "(1",
  "1)",
  "1 2",
  "foo(1)",
  "constructor",
  "alert(1)",
  "1; 2",
  "__proto__",
  "2 ** ** 2",
])("%s is refused", (text) => {
  expect(() => calculate(text)).toThrow(Error);
});

test("nothing that is typed does anything but compute or throw an Error", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      try {
        expect(typeof calculate(text)).toBe("number");
      } catch (error) {
        expect(error).toBeInstanceOf(Error);
        expect(error).not.toBeInstanceOf(TypeError);
      }
    }),
  );
});
