// How long a link or a token is valid: hours, and the words for it.

export const TIMES = [
  ["1", "in an hour"],
  ["24", "in a day"],
  ["168", "in a week"],
  ["0", "never (until revoked)"],
] as const;
