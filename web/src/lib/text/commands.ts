// Slash commands: what they do, and which one the user means.

const ABOUT: Record<string, string> = {
  compact: "Sums up the session so far, to make room in the context",
  context: "Shows what fills the context",
  cost: "Shows what the session has cost",
  usage: "Shows what is left of the account's limits",
  init: "Writes a CLAUDE.md about the project",
  review: "Reviews a pull request",
  "code-review": "Reviews the changes",
  "security-review": "Looks for security problems in the changes",
};

export function commandAbout(name: string): string {
  return ABOUT[name] ?? "";
}

/**
 * The names that have these letters in this order, best first: those that begin with them, then those with a word that
 * does, then the rest.
 */
export function matching(typed: string, names: readonly string[]): string[] {
  const word = typed.toLowerCase();
  return names
    .map((name) => ({ name, rank: rank(word, name.toLowerCase()) }))
    .filter(({ rank }) => rank < Infinity)
    .sort((a, b) => a.rank - b.rank)
    .map(({ name }) => name);
}

function rank(word: string, name: string): number {
  if (name.startsWith(word)) return 0;
  if (name.split(/[-_:]/).some((part) => part.startsWith(word))) return 1;
  if (name.includes(word)) return 2;
  let at = -1;
  for (const letter of word) {
    at = name.indexOf(letter, at + 1);
    if (at < 0) return Infinity;
  }
  return 3;
}
