import { Lexer, type Token, type TokensList } from "marked";
import { markdown } from "./dialect";

/** A block of Markdown that can be shown by itself. */
export interface Block {
  /** Its place in the text; the same block keeps it while the text grows. */
  readonly at: number;
  readonly token: Token;
}

/**
 * Cuts growing Markdown into blocks. What ends before the last block will not change any more, so a long answer costs
 * no more a frame than its last block does. Definitions of links that come later are found once the text is `whole`.
 */
export class Blocks {
  private text = "";
  private done: Block[] = [];
  /** Where the first block begins that may still change. */
  private open = 0;

  /** Return the blocks of what is written; `whole` once it does not grow any more. */
  of(written: string, whole: boolean): readonly Block[] {
    const text = written.replace(/\r\n|\r/g, "\n");
    if (whole || !text.startsWith(this.text)) this.forget();
    this.text = whole ? "" : text;
    const rest = placed(lexed(text.slice(this.open)), this.open);
    if (whole) return rest;
    const last = rest.findLastIndex((block) => block.token.type !== "space");
    const settled = rest.slice(0, Math.max(0, last));
    const tail = rest.slice(settled.length);
    this.done = [...this.done, ...settled];
    this.open = tail[0]?.at ?? this.open;
    return [...this.done, ...tail];
  }

  private forget(): void {
    this.done = [];
    this.open = 0;
  }
}

function lexed(text: string): TokensList {
  return new Lexer(markdown.defaults).lex(text);
}

function placed(tokens: readonly Token[], from: number): Block[] {
  let at = from;
  return tokens.map((token) => {
    const block = { at, token };
    at += token.raw.length;
    return block;
  });
}
