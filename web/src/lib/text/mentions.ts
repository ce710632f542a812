// Files that a message names with an @. Only a file that was chosen from the list goes with the text, and only while its
// name still stands in it.

export interface Mention {
  /** Where the @ stands. */
  from: number;
  word: string;
}

/** The word that is being typed before the caret, if it begins with an @. */
export function mentionAt(text: string, caret: number): Mention | null {
  const match = /(?:^|\s)@(\S*)$/.exec(text.slice(0, caret));
  const word = match?.[1];
  return word === undefined ? null : { from: caret - word.length - 1, word };
}

/** Which of these files the text still names. A mark that ends a sentence or a clause may follow the name. */
export function mentioned(text: string, files: Iterable<string>): string[] {
  return [...files].filter((path) => {
    const name = `@${path}`;
    for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
      // `@src/a.ts` is not named by `@src/a.tsx`, `@src/a.ts.orig` or `x@src/a.ts`.
      const before = text.slice(0, at);
      const after = text.slice(at + name.length);
      if (!/[\p{L}\p{N}_]$/u.test(before) && !/^(?:[\p{L}\p{N}_/\\~-]|\.[\p{L}\p{N}_])/u.test(after)) return true;
    }
    return false;
  });
}
