import type { Tool } from "../model";

export const calculator: Tool = {
  name: "calculator",
  description: "Compute an arithmetic expression, such as 2 * (3 + 4) ^ 2 or sqrt(2) / pi.",
  parameters: {
    type: "object",
    properties: { expression: { type: "string", description: "Numbers, + - * / % ^, brackets, functions." } },
    required: ["expression"],
  },
};

const FUNCTIONS: Readonly<Record<string, (...values: number[]) => number>> = {
  abs: Math.abs,
  acos: Math.acos,
  asin: Math.asin,
  atan: Math.atan,
  ceil: Math.ceil,
  cos: Math.cos,
  exp: Math.exp,
  floor: Math.floor,
  ln: Math.log,
  log: Math.log10,
  log2: Math.log2,
  max: Math.max,
  min: Math.min,
  round: Math.round,
  sin: Math.sin,
  sqrt: Math.sqrt,
  tan: Math.tan,
};
const CONSTANTS: Readonly<Record<string, number>> = { e: Math.E, pi: Math.PI, tau: 2 * Math.PI };
const TOKEN =
  /\s*(?:(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([a-zA-Z]\w*)|(\*\*|[-+*/%^(),×÷−]))/y;
const SAME: Readonly<Record<string, string>> = { "**": "^", "×": "*", "÷": "/", "−": "-" };

/** Return the value of an expression. Throws an `Error` that says what is wrong with it. */
export function calculate(expression: string): number {
  const parser = new Parser(tokens(expression));
  const value = parser.sum();
  parser.end();
  return value;
}

function tokens(expression: string): string[] {
  const found: string[] = [];
  const text = expression.trimEnd();
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const at = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (!match) throw new Error(`“${text.slice(at).trim()[0]}” means nothing here`);
    const token = match[1] ?? match[2] ?? match[3] ?? "";
    found.push(SAME[token] ?? token);
  }
  return found;
}

/** By precedence: sums of products of signs of powers of values; powers from the right. */
class Parser {
  private at = 0;

  constructor(private readonly tokens: readonly string[]) {}

  sum(): number {
    let value = this.product();
    for (;;) {
      if (this.take("+")) value += this.product();
      else if (this.take("-")) value -= this.product();
      else return value;
    }
  }

  end(): void {
    const rest = this.tokens[this.at];
    if (rest !== undefined) throw new Error(`“${rest}” is not expected there`);
  }

  private product(): number {
    let value = this.sign();
    for (;;) {
      if (this.take("*")) value *= this.sign();
      else if (this.take("/")) value /= this.sign();
      else if (this.take("%")) value %= this.sign();
      else return value;
    }
  }

  private sign(): number {
    if (this.take("-")) return -this.sign();
    if (this.take("+")) return this.sign();
    return this.power();
  }

  private power(): number {
    const base = this.value();
    return this.take("^") ? base ** this.sign() : base;
  }

  private value(): number {
    const token = this.tokens[this.at];
    if (token === undefined) throw new Error("the expression ends too early");
    this.at += 1;
    if (token === "(") {
      const value = this.sum();
      this.expect(")");
      return value;
    }
    if (/^[\d.]/.test(token)) return Number(token);
    if (/^[a-zA-Z]/.test(token)) return this.named(token);
    throw new Error(`“${token}” is not expected there`);
  }

  private named(name: string): number {
    const constant = Object.hasOwn(CONSTANTS, name) ? CONSTANTS[name] : undefined;
    if (constant !== undefined) return constant;
    const called = Object.hasOwn(FUNCTIONS, name) ? FUNCTIONS[name] : undefined;
    if (!called) throw new Error(`“${name}” is no function and no constant`);
    this.expect("(");
    const values = [this.sum()];
    while (this.take(",")) values.push(this.sum());
    this.expect(")");
    return called(...values);
  }

  private take(token: string): boolean {
    if (this.tokens[this.at] !== token) return false;
    this.at += 1;
    return true;
  }

  private expect(token: string): void {
    if (!this.take(token)) throw new Error(`“${token}” is missing`);
  }
}
