import fc from "fast-check";
import { expect, test } from "vitest";
import { fromJson, toJson, toMarkdown } from "../src/chat/archive";
import { CONVERSATION } from "./conversations";

test("what is exported is imported as it was", () => {
  fc.assert(
    fc.property(fc.array(CONVERSATION, { maxLength: 3 }), (conversations) => {
      expect(fromJson(toJson(conversations))).toEqual(conversations);
    }),
  );
});

test.each([
  ["no JSON", "{"],
  ["something else", '{"format": "other", "conversations": []}'],
  ["a newer version", '{"format": "mlxp-conversations", "version": 99, "conversations": []}'],
  ["damage", '{"format": "mlxp-conversations", "version": 1, "conversations": [{"id": 5}]}'],
  [
    "a turn without its parent",
    '{"format": "mlxp-conversations", "version": 1, "conversations": [{"id": "a", "turns": {"t": {"id": "t", "parent": "x", "role": "user", "parts": []}}}]}',
  ],
  [
    "a picture from elsewhere",
    '{"format": "mlxp-conversations", "version": 1, "conversations": [{"id": "a", "turns": {"t": {"id": "t", "parent": null, "role": "user", "parts": [{"kind": "image", "url": "http://x/y.png"}]}}}]}',
  ],
])("%s is refused with a reason", (_, text) => {
  expect(() => fromJson(text)).toThrow(/./);
});

test("no JSON value breaks reading", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(() => fromJson(JSON.stringify(value))).toThrow(Error);
    }),
  );
});

test("Markdown holds what was said, and its fences are longer than those inside", () => {
  fc.assert(
    fc.property(CONVERSATION, (conversation) => {
      expect(toMarkdown(conversation)).toContain(conversation.title);
    }),
  );
});
