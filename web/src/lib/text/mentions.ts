// Files that a message mentions with an @. A file is sent with the text only if it was chosen from the list and the
// text still mentions it.

export interface Mention {
  /** Position of the @. */
  from: number;
  word: string;
}

/** The word before the caret, if it starts with an @. */
export function mentionAt(text: string, caret: number): Mention | null {
  const match = /(?:^|\s)@(\S*)$/.exec(text.slice(0, caret));
  const word = match?.[1];
  return word === undefined ? null : { from: caret - word.length - 1, word };
}

/** Which of these files the text still mentions. Punctuation may follow the name. */
export function mentioned(text: string, files: Iterable<string>): string[] {
  return [...files].filter((path) => {
    const name = `@${path}`;
    for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
      // `@src/a.tsx`, `@src/a.ts.orig` and `x@src/a.ts` do not mention `@src/a.ts`.
      const before = text.slice(0, at);
      const after = text.slice(at + name.length);
      if (!/[\p{L}\p{N}_]$/u.test(before) && !/^(?:[\p{L}\p{N}_/\\~-]|\.[\p{L}\p{N}_])/u.test(after)) return true;
    }
    return false;
  });
}
