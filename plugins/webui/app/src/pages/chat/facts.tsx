import { cardOf } from "../../chat/cards";
import type { Report, Turn } from "../../chat/model";
import { wireOf } from "../../chat/wire";
import { count, percent, seconds } from "../../parts/format";

/** What was written faster has no speed that means anything. */
const LEAST_S = 0.05;

/** The numbers of an answer: speed, time to the first token, tokens, and how full the context is. */
export function Facts({ turn }: { turn: Turn }) {
  const { report } = turn;
  if (!report) return null;
  return (
    <ul class="facts" aria-label="Facts about this answer">
      {factsOf(report).map(([name, value]) => (
        <li key={name}>
          {name} <b>{value}</b>
        </li>
      ))}
    </ul>
  );
}

function factsOf(report: Report): readonly (readonly [string, string])[] {
  const { tokens, firstTokenS, writingS, reason } = report;
  const facts: [string, string][] = [];
  if (tokens && writingS !== null && writingS >= LEAST_S && tokens.completion > 1) {
    facts.push(["speed", `${count((tokens.completion - 1) / writingS)} tok/s`]);
  }
  if (firstTokenS !== null) facts.push(["first token", seconds(firstTokenS)]);
  if (tokens) {
    const thinking = tokens.thinking ? ` (${count(tokens.thinking)} thinking)` : "";
    facts.push(["answer", `${count(tokens.completion)} tokens${thinking}`]);
    facts.push(["prompt", `${count(tokens.prompt)}, ${count(tokens.cached)} cached`]);
    const window = cardOf(report.model)?.context_window;
    if (window) facts.push(["context", used((tokens.prompt + tokens.completion) / window)]);
  }
  if (report.seed !== null) facts.push(["seed", String(report.seed)]);
  if (reason === "length") facts.push(["ended", "at its limit"]);
  if (reason === "stopped") facts.push(["ended", "stopped"]);
  facts.push(["by", `${report.model}, ${wireOf(report.protocol as never).title}`]);
  return facts;
}

function used(share: number): string {
  return share < 0.01 ? "under 1 %" : percent(share);
}
