import fc from "fast-check";
import { expect, test } from "vitest";
import { PLAIN } from "../src/chat/model";
import { path } from "../src/chat/tree";
import { WIRES } from "../src/chat/wire";
import { CONVERSATION } from "./conversations";

const EVENT = fc
  .oneof(fc.string(), fc.json())
  .map((data) => ({ event: "message", data, id: "", comment: "" }));

test.each(WIRES.map((wire) => [wire.title, wire] as const))("%s: no event breaks its reader", (_, wire) => {
  fc.assert(
    fc.property(fc.array(EVENT), (events) => {
      const reader = wire.reader();
      for (const event of events) expect(Array.isArray(reader(event))).toBe(true);
    }),
  );
});

test.each(WIRES.map((wire) => [wire.title, wire] as const))(
  "%s: every word said is in the request",
  (_, wire) => {
    fc.assert(
      fc.property(CONVERSATION, (conversation) => {
        const turns = path(conversation);
        const asked = { model: "m", turns, options: PLAIN, tools: [], schema: null, fields: { extra: 1 } };
        const body = wire.body(asked);
        const sent = JSON.stringify(body);
        for (const part of turns.flatMap((turn) => turn.parts)) {
          if (part.kind === "text") expect(sent).toContain(JSON.stringify(part.text).slice(1, -1));
        }
        expect(body).toMatchObject({ model: "m", stream: true, extra: 1 });
        expect(Object.values(body)).not.toContain(null);
        expect(body).not.toHaveProperty("temperature");
      }),
    );
  },
);

test.each(WIRES.map((wire) => [wire.title, wire] as const))("%s: what is lacking is left out", (_, wire) => {
  const options = { ...PLAIN, minP: 0.1, repetitionPenalty: 1.1, topK: 5, temperature: 0.5 };
  const body = wire.body({ model: "m", turns: [], options, tools: [], schema: null, fields: {} });
  const names = {
    minP: "min_p",
    repetitionPenalty: "repetition_penalty",
    topK: "top_k",
    temperature: "temperature",
  };
  for (const [option, name] of Object.entries(names)) {
    expect(name in body).toBe(!(wire.lacks as readonly string[]).includes(option));
  }
});
