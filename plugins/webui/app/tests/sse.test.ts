import fc from "fast-check";
import { expect, test } from "vitest";
import { EventReader } from "../src/api/sse";

const LINE = fc.oneof(
  fc.constantFrom("", "", "data: x", "data:y", "data", "event: e", "id: 7", ": note", "retry: 3", "nonsense"),
  fc.string({ unit: "binary" }).map((text) => text.replace(/[\r\n]/g, "")),
);
const STREAM = fc
  .array(fc.tuple(LINE, fc.constantFrom("\n", "\r\n", "\r")), { maxLength: 20 })
  .map((lines) => lines.map(([line, end]) => line + end).join(""));

function read(pieces: readonly string[]) {
  const reader = new EventReader();
  return pieces.flatMap((piece) => reader.feed(piece));
}

test("any cut gives the same events", () => {
  fc.assert(
    fc.property(STREAM, fc.array(fc.nat(), { maxLength: 8 }), (stream, places) => {
      const cuts = [
        0,
        ...places.map((place) => place % (stream.length + 1)).sort((a, b) => a - b),
        stream.length,
      ];
      const pieces = cuts.slice(1).map((end, at) => stream.slice(cuts[at], end));
      // A carriage return at the end may be half of a line's end, so both are told what follows.
      expect(read([...pieces, "\n"])).toEqual(read([stream, "\n"]));
    }),
  );
});

test("lines of data are joined, comments are told, names are kept", () => {
  expect(read([": hello\n", "event: a\ndata: 1\ndata: 2\n\ndata: 3\n\n"])).toEqual([
    { event: "", data: "", id: "", comment: "hello" },
    { event: "a", data: "1\n2", id: "", comment: "" },
    { event: "message", data: "3", id: "", comment: "" },
  ]);
});
