/** One server-sent event; comments are told too, since keep-alives and progress come that way. */
export interface ServerEvent {
  readonly event: string;
  readonly data: string;
  readonly id: string;
  readonly comment: string;
}

/** Cuts growing text into events, as the HTML standard says (9.2.6). Feed it any pieces; the events are the same. */
export class EventReader {
  private rest = "";
  private data: string[] = [];
  private event = "";
  private id = "";
  private begun = false;

  feed(text: string): ServerEvent[] {
    let all = this.rest + text;
    if (!this.begun && all) {
      this.begun = true;
      if (all.startsWith("\ufeff")) all = all.slice(1);
    }
    // A carriage return at the very end may be the first half of a line's end.
    const held = all.endsWith("\r") ? 1 : 0;
    const lines = all.slice(0, all.length - held).split(/\r\n|\n|\r/);
    this.rest = (lines.pop() ?? "") + (held ? "\r" : "");
    return lines.flatMap((line) => this.line(line));
  }

  private line(line: string): ServerEvent[] {
    if (line === "") return this.dispatch();
    if (line.startsWith(":")) {
      return [{ event: "", data: "", id: this.id, comment: line.slice(1).trim() }];
    }
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") this.data.push(value);
    else if (name === "event") this.event = value;
    else if (name === "id" && !value.includes("\0")) this.id = value;
    return [];
  }

  private dispatch(): ServerEvent[] {
    const { data, event } = this;
    this.data = [];
    this.event = "";
    if (!data.length) return [];
    return [{ event: event || "message", data: data.join("\n"), id: this.id, comment: "" }];
  }
}

/** Yield the events of a response's body to its end. */
export async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = new EventReader();
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const pieces = body.getReader();
  try {
    for (;;) {
      const { done, value } = await pieces.read();
      if (done) return;
      yield* reader.feed(decoder.decode(value, { stream: true }));
    }
  } finally {
    await pieces.cancel().catch(() => undefined);
  }
}
