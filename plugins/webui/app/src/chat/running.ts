import { events } from "../api/client";
import { Answer } from "./answer";
import { askedOf } from "./asking";
import { beginExchange } from "./exchanges";
import type { Chat } from "./library";
import type { CallPart, Part, Turn } from "./model";
import { Pace } from "./pace";
import { answered } from "./tools";
import { added, changed, newId, path } from "./tree";
import { type Wire, wireOf } from "./wire";

/** So many rounds of calls are run without being asked. */
const MOST_ROUNDS = 8;

/** Say something, and have it answered. `parent` is the turn it follows. */
export async function say(chat: Chat, parts: readonly Part[], parent: string | null): Promise<void> {
  const turn = turnOf("user", parts, parent);
  chat.update((conversation) => added(conversation, turn));
  await respond(chat, turn.id);
}

/** Have the turn `parent` answered, in a branch of its own; then run the built-in tools that the answer calls. */
export async function respond(chat: Chat, parent: string, round = 0): Promise<void> {
  if (chat.running.peek()) return;
  const turn = turnOf("assistant", [], parent);
  chat.update((conversation) => added(conversation, turn));
  await write(chat, turn, path(chat.state.peek(), parent));
  await goOn(chat, turn.id, round);
}

/** Have an answer continued where it ended. */
export async function proceed(chat: Chat, id: string): Promise<void> {
  const turn = chat.state.peek().turns[id];
  if (!turn || chat.running.peek()) return;
  await write(chat, turn, path(chat.state.peek(), id));
  await goOn(chat, id, 0);
}

/** Note what a tool answered; when no call waits any more, the conversation goes on. */
export async function giveResult(chat: Chat, id: string, call: CallPart): Promise<void> {
  replaceCall(chat, id, call);
  await goOn(chat, id, 0);
}

async function goOn(chat: Chat, id: string, round: number): Promise<void> {
  const turn = chat.state.peek().turns[id];
  if (!turn || turn.fault || turn.report?.reason === "stopped" || chat.running.peek()) return;
  const calls = turn.parts.filter((part): part is CallPart => part.kind === "call");
  if (!calls.length) return;
  for (const call of calls) {
    const done = call.result === null ? answered(call, chat.state.peek().options.builtIn) : null;
    if (done) replaceCall(chat, id, done);
  }
  const waits = chat.state
    .peek()
    .turns[id]?.parts.some((part) => part.kind === "call" && part.result === null);
  if (!waits && round < MOST_ROUNDS) await respond(chat, id, round + 1);
}

function replaceCall(chat: Chat, id: string, call: CallPart): void {
  const replaced = (part: Part) => (part.kind === "call" && part.id === call.id ? call : part);
  chat.update((conversation) =>
    changed(conversation, id, (turn) => ({ ...turn, parts: turn.parts.map(replaced) }), Date.now()),
  );
}

/** Ask, and write what comes into `turn`, frame by frame. */
async function write(chat: Chat, turn: Turn, turns: readonly Turn[]): Promise<void> {
  const { options } = chat.state.peek();
  const wire = wireOf(options.protocol);
  const left = new AbortController();
  const answer = new Answer(seconds(), turn.parts);
  let model = options.model;
  const show = () => {
    const told = { parts: answer.now(), report: answer.report(model, wire.name) };
    chat.update((conversation) =>
      changed(conversation, turn.id, (was) => withFault(was, told, answer.fault), Date.now()),
    );
  };
  chat.running.value = { turn: turn.id, stop: () => left.abort() };
  try {
    const asked = askedOf(options, turns);
    model = asked.model;
    await stream({ wire, body: wire.body(asked), turn: turn.id, left, answer, show });
    answer.end(seconds());
  } catch (error) {
    if (!left.signal.aborted) answer.fault = (error as Error).message;
    answer.end(seconds(), left.signal.aborted ? "stopped" : null);
  } finally {
    show();
    chat.running.value = null;
    await chat.save();
  }
}

function withFault(turn: Turn, told: Pick<Turn, "parts" | "report">, fault: string | null): Turn {
  const { fault: _, ...rest } = turn;
  return fault === null ? { ...rest, ...told } : { ...rest, ...told, fault };
}

interface Streaming {
  readonly wire: Wire;
  readonly body: Record<string, unknown>;
  readonly turn: string;
  readonly left: AbortController;
  readonly answer: Answer;
  readonly show: () => void;
}

async function stream({ wire, body, turn, left, answer, show }: Streaming): Promise<void> {
  const exchange = beginExchange(turn, wire.path, body);
  const reader = wire.reader();
  const pace = new Pace(() => {
    show();
    exchange.changes.value += 1;
  });
  try {
    for await (const event of events(wire.path, { body, signal: left.signal })) {
      exchange.events.push(event.comment ? `: ${event.comment}` : event.data);
      for (const said of reader(event)) answer.add(said, seconds());
      pace.ask();
    }
  } finally {
    pace.stop();
    exchange.changes.value += 1;
  }
}

function turnOf(role: Turn["role"], parts: readonly Part[], parent: string | null): Turn {
  return { id: newId(), parent, role, parts, created: Date.now() };
}

function seconds(): number {
  return performance.now() / 1000;
}
