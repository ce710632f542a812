// Server-sent events, parsed by hand: EventSource cannot send a token in a header.

export interface ServerEvent {
  name: string;
  id: string | null;
  data: string;
}

/** Takes text in arbitrary chunks and returns the complete events. */
export class EventParser {
  #rest = "";
  #name = "";
  #id: string | null = null;
  #data: string[] = [];

  push(text: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    this.#rest += text;
    let from = 0;
    for (;;) {
      const end = this.#lineEnd(from);
      if (end === null) break;
      const event = this.#line(this.#rest.slice(from, end.at));
      if (event !== null) events.push(event);
      from = end.next;
    }
    this.#rest = this.#rest.slice(from);
    return events;
  }

  #lineEnd(from: number): { at: number; next: number } | null {
    for (let at = from; at < this.#rest.length; at += 1) {
      const code = this.#rest.charCodeAt(at);
      if (code === 10) return { at, next: at + 1 };
      if (code === 13) {
        // The line feed of a CRLF pair may still be on its way.
        if (at + 1 === this.#rest.length) return null;
        return { at, next: this.#rest.charCodeAt(at + 1) === 10 ? at + 2 : at + 1 };
      }
    }
    return null;
  }

  #line(line: string): ServerEvent | null {
    if (line === "") {
      const event = { name: this.#name || "message", id: this.#id, data: this.#data.join("\n") };
      const there = this.#data.length > 0;
      this.#name = "";
      this.#id = null;
      this.#data = [];
      return there ? event : null;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return null;
    const field = colon < 0 ? line : line.slice(0, colon);
    let value = colon < 0 ? "" : line.slice(colon + 1);
    if (value.startsWith(" ")) value = value.slice(1);
    if (field === "event") this.#name = value;
    else if (field === "id") this.#id = value;
    else if (field === "data") this.#data.push(value);
    return null;
  }
}
