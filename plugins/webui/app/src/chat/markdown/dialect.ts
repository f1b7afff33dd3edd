import { Marked, type RendererThis, type TokenizerAndRendererExtension, type Tokens } from "marked";

/** GitHub's Markdown, with formulas; markup in it is shown as the text it is. */
export const markdown = new Marked({ gfm: true, breaks: true });

interface Formula extends Tokens.Generic {
  readonly tex: string;
}

function formula(
  name: string,
  level: "block" | "inline",
  start: RegExp,
  rule: RegExp,
): TokenizerAndRendererExtension {
  return {
    name,
    level,
    start: (source: string) => {
      const match = start.exec(source);
      return match ? match.index + (match[0].startsWith("\n") ? 1 : 0) : undefined;
    },
    tokenizer(source: string): Formula | undefined {
      const match = rule.exec(source);
      const tex = match?.slice(1).find((group) => group !== undefined);
      return match && tex !== undefined ? { type: name, raw: match[0], tex: tex.trim() } : undefined;
    },
    // Replaced by the drawn formula once KaTeX is there; until then, and where it fails, the text itself.
    renderer(this: RendererThis, token: Tokens.Generic): string {
      const display = name === "formula-line" ? "" : " display";
      return `<code class="formula${display}">${escaped((token as Formula).tex)}</code>`;
    },
  };
}

markdown.use({
  renderer: {
    html: ({ text }: Tokens.HTML | Tokens.Tag) => escaped(text),
    // Sections of an answer stand below the heading that says whose answer it is, whatever level the model chose.
    heading({ tokens, depth }: Tokens.Heading): string {
      return `<h4 class="level-${depth}">${this.parser.parseInline(tokens)}</h4>`;
    },
  },
  extensions: [
    // A block begins and ends with a line; anywhere else such a formula stands in its line.
    formula(
      "formula-block",
      "block",
      /\n(?:\$\$|\\\[)/,
      /^(?:\$\$([\s\S]+?)\$\$|\\\[([\s\S]+?)\\\])[ \t]*(?:\n|$)/,
    ),
    formula("formula-display", "inline", /\$\$|\\\[/, /^(?:\$\$([^\n]+?)\$\$|\\\[([^\n]+?)\\\])/),
    // A dollar sign before a space or after one is money, not mathematics.
    formula(
      "formula-line",
      "inline",
      /\$|\\\(/,
      /^(?:\$(?!\s)((?:\\.|[^$\\\n])+?)(?<!\s)\$(?![\d\w])|\\\(([^\n]+?)\\\))/,
    ),
  ],
});

const ENTITIES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

export function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (char) => ENTITIES[char] ?? char);
}
