// Reviews: hunks as a unified diff, and comments on lines as one message.

import type { ReviewHunk } from "../api/schema.ts";

/** A comment on a line of a file. */
export interface LineComment {
  path: string;
  /** The number in the file as it is now, or in the base for a line that is gone. */
  line: number;
  gone: boolean;
  /** The line itself. */
  code: string;
  text: string;
}

/** The hunks of a file as a unified diff. */
export function unifiedOf(hunks: ReviewHunk[]): string {
  return hunks
    .map((hunk) => {
      const count = (...marks: string[]) => hunk.lines.filter((line) => marks.includes(line[0] ?? "")).length;
      const old = `${hunk.old_start},${count(" ", "-")}`;
      const now = `${hunk.new_start},${count(" ", "+")}`;
      return [`@@ -${old} +${now} @@ ${hunk.title}`, ...hunk.lines, ""].join("\n");
    })
    .join("");
}

/** All comments as one message to the agent, by file and line. */
export function reviewMessage(comments: LineComment[]): string {
  const sorted = [...comments].sort((a, b) => a.path.localeCompare(b.path) || a.line - b.line);
  const parts = sorted.map(({ path, line, gone, code, text }) => {
    const where = gone ? `removed line ${line}` : `line ${line}`;
    return `${path}, ${where}:\n> ${code}\n${text.trim()}`;
  });
  const head = parts.length === 1 ? "A comment on the changes:" : `${parts.length} comments on the changes:`;
  return [head, ...parts].join("\n\n");
}
