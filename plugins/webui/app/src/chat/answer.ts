import type { Part, Reason, Report, Tokens } from "./model";
import type { Said } from "./wire";

/** An answer while it is written: pieces in, parts out. Times are seconds of any clock that only grows. */
export class Answer {
  private readonly parts: Part[];
  /** Key of a call on the wire -> its place among the parts. */
  private readonly calls = new Map<string, number>();
  private tokens: Tokens | null = null;
  private seed: number | null = null;
  private warnings: string[] = [];
  private reason: Reason | null = null;
  private firstS: number | null = null;
  private lastS: number | null = null;
  private thoughtS: number | null = null;
  fault: string | null = null;

  /** `before` is what is there already, of an answer that is continued. */
  constructor(
    private readonly startedS: number,
    before: readonly Part[] = [],
  ) {
    this.parts = [...before];
  }

  add(said: Said, nowS: number): void {
    switch (said.kind) {
      case "text":
      case "thought":
        this.write(said.kind, said.text, nowS);
        break;
      case "call":
        this.touch(nowS);
        this.endThought(nowS);
        this.calls.set(said.key, this.parts.length);
        this.parts.push({
          kind: "call",
          id: said.id,
          name: said.name,
          arguments: "",
          result: null,
          failed: false,
        });
        break;
      case "arguments":
        this.touch(nowS);
        this.addArguments(said.key, said.text);
        break;
      case "tokens":
        this.tokens = said.tokens;
        break;
      case "seed":
        this.seed = said.seed;
        break;
      case "warnings":
        this.warnings = [...this.warnings, ...said.warnings];
        break;
      case "end":
        this.reason = said.reason;
        break;
      case "fault":
        this.fault = said.message;
        break;
    }
  }

  /** Nothing more will come; `reason` wins over what the stream told. One that told none broke off. */
  end(nowS: number, reason: Reason | null = null): void {
    this.endThought(nowS);
    this.reason = reason ?? this.reason;
    if (this.reason === null) this.fault ??= "The answer broke off.";
  }

  now(): readonly Part[] {
    return [...this.parts];
  }

  report(model: string, protocol: string): Report {
    return {
      model,
      protocol,
      tokens: this.tokens,
      firstTokenS: this.firstS === null ? null : this.firstS - this.startedS,
      writingS: this.firstS === null || this.lastS === null ? null : this.lastS - this.firstS,
      seed: this.seed,
      reason: this.reason,
      warnings: this.warnings,
    };
  }

  private write(kind: "text" | "thought", text: string, nowS: number): void {
    if (!text) return;
    this.touch(nowS);
    if (kind === "text") this.endThought(nowS);
    else this.thoughtS ??= nowS;
    const last = this.parts.at(-1);
    if (last?.kind === kind) this.parts[this.parts.length - 1] = { ...last, text: last.text + text };
    else if (kind === "text") this.parts.push({ kind, text });
    else this.parts.push({ kind, text, seconds: null });
  }

  private addArguments(key: string, text: string): void {
    const place = this.calls.get(key);
    const part = place === undefined ? undefined : this.parts[place];
    if (place !== undefined && part?.kind === "call") {
      this.parts[place] = { ...part, arguments: part.arguments + text };
    }
  }

  private endThought(nowS: number): void {
    const last = this.parts.at(-1);
    if (last?.kind === "thought" && last.seconds === null) {
      this.parts[this.parts.length - 1] = { ...last, seconds: nowS - (this.thoughtS ?? nowS) };
    }
    this.thoughtS = null;
  }

  private touch(nowS: number): void {
    this.firstS ??= nowS;
    this.lastS = nowS;
  }
}
