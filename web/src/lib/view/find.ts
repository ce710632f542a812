// Finding text in the transcript, also in rows that are not drawn.

import type { Entry } from "../api/schema.ts";
import { inputOf } from "../text/tools.ts";
import type { Layout, Row } from "./rows.ts";

/** What a reader could look for in an entry. */
export function textOf({ body }: Entry): string {
  switch (body.kind) {
    case "user":
    case "text":
    case "thinking":
      return body.text;
    case "tool": {
      const input = Object.values(inputOf(body)).filter((value) => typeof value === "string");
      return [body.name, body.title, ...input, body.output?.text ?? ""].join("\n");
    }
    case "notice":
      return Object.values(body.notice)
        .filter((value) => typeof value === "string")
        .join("\n");
    case "hook":
      return body.output ?? "";
    case "unknown":
      return body.raw;
  }
}

/** The rows that contain a text, in order, ignoring case. */
export function findRows(layout: Layout, entryOf: (id: number) => Entry | null, wanted: string): Row[] {
  const words = wanted.trim().toLowerCase();
  if (words === "") return [];
  const seen = new Set<number>();
  const has = (id: number): boolean => {
    const entry = entryOf(id);
    // A hostile stream could make an agent its own child.
    if (entry === null || seen.has(id)) return false;
    seen.add(id);
    if (textOf(entry).toLowerCase().includes(words)) return true;
    return entry.body.kind === "tool" && (layout.children.get(entry.body.id) ?? []).some(has);
  };
  return layout.rows.filter((row) => {
    switch (row.kind) {
      case "entry":
        return has(row.entry);
      case "run":
        return row.entries.some(has);
      case "orphans":
        return (layout.children.get(row.agent) ?? []).some(has);
      case "turn":
        return false;
    }
  });
}
