import fc from "fast-check";
import { expect, test } from "vitest";
import { PLAIN, type Turn } from "../src/chat/model";
import { added, begun, changed, path, shown, siblings } from "../src/chat/tree";
import { CONVERSATION } from "./conversations";

test("every turn can be shown, and is then on the path", () => {
  fc.assert(
    fc.property(CONVERSATION, (conversation) => {
      for (const turn of Object.values(conversation.turns)) {
        const seen = path(shown(conversation, turn));
        expect(seen).toContain(turn);
        expect(seen[0]?.parent).toBeNull();
        for (const [place, each] of seen.entries()) expect(each.parent).toBe(seen[place - 1]?.id ?? null);
      }
    }),
  );
});

test("a turn is among its siblings once", () => {
  fc.assert(
    fc.property(CONVERSATION, (conversation) => {
      for (const turn of Object.values(conversation.turns)) {
        expect(siblings(conversation, turn).filter((each) => each.id === turn.id)).toHaveLength(1);
      }
    }),
  );
});

test("adding a branch leaves every other turn as it was", () => {
  fc.assert(
    fc.property(CONVERSATION, (conversation) => {
      const turn: Turn = { id: "new", parent: null, role: "user", parts: [], created: 99 };
      const after = added(conversation, turn);
      expect(after.leaf).toBe("new");
      expect({ ...after.turns, new: undefined }).toEqual({ ...conversation.turns, new: undefined });
    }),
  );
});

test("the first words are the title, until somebody gives another", () => {
  const turn: Turn = {
    id: "a",
    parent: null,
    role: "user",
    parts: [{ kind: "text", text: " Hi\n you " }],
    created: 1,
  };
  expect(added(begun(PLAIN, 0), turn).title).toBe("Hi you");
  expect(added({ ...begun(PLAIN, 0), title: "Mine", named: true }, turn).title).toBe("Mine");
  expect(added({ ...begun(PLAIN, 0), title: "Old", leaf: "x" }, turn).title).toBe("Old");
});

test("a turn that is gone is not changed", () => {
  const conversation = begun(PLAIN, 0);
  expect(changed(conversation, "nowhere", (turn) => turn, 1)).toBe(conversation);
});

test("a circle of parents ends", () => {
  const turn = (id: string, parent: string): Turn => ({ id, parent, role: "user", parts: [], created: 0 });
  const turns = { a: turn("a", "b"), b: turn("b", "a") };
  expect(path({ ...begun(PLAIN, 0), turns, leaf: "a" })).toHaveLength(2);
});
