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

/** The row that shows an entry, and the rows inside it that have to be opened for that. Null if it is not loaded. */
export function rowOfEntry(
  layout: Layout,
  entryOf: (id: number) => Entry | null,
  wanted: number,
): { row: Row; open: string[] } | null {
  const starts = new Map<string, number>();
  for (const row of layout.rows)
    for (const id of row.kind === "entry" ? [row.entry] : row.kind === "run" ? row.entries : []) {
      const body = entryOf(id)?.body;
      if (body?.kind === "tool") starts.set(body.id, id);
    }
  for (const ids of layout.children.values())
    for (const id of ids) {
      const body = entryOf(id)?.body;
      if (body?.kind === "tool") starts.set(body.id, id);
    }
  const open: string[] = [];
  let id = wanted;
  // A hostile stream could make an agent its own parent.
  for (let depth = 0; depth < 32; depth += 1) {
    const parent = entryOf(id)?.parent ?? null;
    if (parent === null) break;
    const call = starts.get(parent);
    if (call === undefined) {
      const row = layout.rows.find((row) => row.kind === "orphans" && row.agent === parent);
      return row === undefined ? null : { row, open: [...open, row.key] };
    }
    open.push(`e${call}`);
    id = call;
  }
  const row = layout.rows.find((row) =>
    row.kind === "entry" ? row.entry === id : row.kind === "run" && row.entries.includes(id),
  );
  if (row === undefined) return null;
  return { row, open: row.kind === "run" ? [...open, row.key] : open };
}
