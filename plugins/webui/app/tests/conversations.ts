/** Conversations drawn at random: trees that grew turn by turn. */

import fc from "fast-check";
import { type Conversation, type Part, PLAIN, type Turn } from "../src/chat/model";
import { added, begun } from "../src/chat/tree";

const TEXT = fc.string({ unit: "grapheme", maxLength: 40 });

const PART: fc.Arbitrary<Part> = fc.oneof(
  TEXT.map((text): Part => ({ kind: "text", text })),
  TEXT.map((text): Part => ({ kind: "thought", text, seconds: 1.5 })),
  TEXT.map((name): Part => ({ kind: "image", url: "data:image/png;base64,AA==", name })),
  fc
    .record({ name: TEXT, arguments: TEXT, result: fc.option(TEXT), failed: fc.boolean() })
    .map((call): Part => ({ kind: "call", id: "c", ...call })),
);

export const CONVERSATION: fc.Arbitrary<Conversation> = fc
  .array(fc.record({ at: fc.nat(), parts: fc.array(PART, { maxLength: 3 }), user: fc.boolean() }), {
    minLength: 1,
    maxLength: 12,
  })
  .map((steps) => {
    let conversation = begun(PLAIN, 0);
    steps.forEach(({ at, parts, user }, place) => {
      const known = [null, ...Object.keys(conversation.turns)];
      const turn: Turn = {
        id: `t${place}`,
        parent: known[at % known.length] ?? null,
        role: user ? "user" : "assistant",
        parts,
        created: place,
      };
      conversation = added(conversation, turn);
    });
    return conversation;
  });
