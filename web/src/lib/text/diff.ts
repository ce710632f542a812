// Unified diffs: parsed into lines with numbers, and paired for two columns.

export type LineKind = "context" | "added" | "removed";

export interface DiffLine {
  kind: LineKind;
  oldNumber: number | null;
  newNumber: number | null;
  text: string;
}

export interface Hunk {
  heading: string;
  lines: DiffLine[];
}

export interface SidePair {
  left: DiffLine | null;
  right: DiffLine | null;
}

export function parseDiff(unified: string): Hunk[] {
  const hunks: Hunk[] = [];
  let hunk: Hunk | null = null;
  let oldNumber = 0;
  let newNumber = 0;
  // Line counts from the hunk header: a removed line that reads "-- x" is not a file header.
  let oldLeft = 0;
  let newLeft = 0;
  for (const line of unified.split("\n")) {
    const heading = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)$/.exec(line);
    if (heading !== null && oldLeft <= 0 && newLeft <= 0) {
      oldNumber = Number(heading[1]);
      newNumber = Number(heading[3]);
      oldLeft = heading[2] === undefined ? 1 : Number(heading[2]);
      newLeft = heading[4] === undefined ? 1 : Number(heading[4]);
      hunk = { heading: (heading[5] ?? "").trim(), lines: [] };
      hunks.push(hunk);
      continue;
    }
    if (hunk === null || (oldLeft <= 0 && newLeft <= 0)) continue;
    const text = line.slice(1);
    if (line.startsWith("+")) {
      hunk.lines.push({ kind: "added", oldNumber: null, newNumber, text });
      newNumber += 1;
      newLeft -= 1;
    } else if (line.startsWith("-")) {
      hunk.lines.push({ kind: "removed", oldNumber, newNumber: null, text });
      oldNumber += 1;
      oldLeft -= 1;
    } else if (line.startsWith(" ") || line === "") {
      hunk.lines.push({ kind: "context", oldNumber, newNumber, text });
      oldNumber += 1;
      newNumber += 1;
      oldLeft -= 1;
      newLeft -= 1;
    }
  }
  return hunks;
}

/** The lines of a hunk in two columns: removed lines next to the added ones that replace them. */
export function sideBySide(hunk: Hunk): SidePair[] {
  const pairs: SidePair[] = [];
  let removed: DiffLine[] = [];
  let added: DiffLine[] = [];
  const flush = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at += 1) {
      pairs.push({ left: removed[at] ?? null, right: added[at] ?? null });
    }
    removed = [];
    added = [];
  };
  for (const line of hunk.lines) {
    if (line.kind === "removed") {
      if (added.length > 0) flush();
      removed.push(line);
    } else if (line.kind === "added") added.push(line);
    else {
      flush();
      pairs.push({ left: line, right: line });
    }
  }
  flush();
  return pairs;
}

/** Lengths of the common start and end of two lines, so that the middle can be marked. */
export function changedMiddle(before: string, after: string): { head: number; tail: number } {
  const most = Math.min(before.length, after.length);
  let head = 0;
  while (head < most && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < most - head && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  return { head, tail };
}
