// Makes invisible characters visible: what a person approves must be what they read.
//
// Same as weir-transcript's reveal.rs, which terminals and chats use; tests/reveal.json keeps them in sync.

export interface Piece {
  text: string;
  /** Whether the piece marks something invisible. */
  mark: boolean;
}

/** More blank lines in a row are counted instead of shown. */
const MAX_BLANK_LINES = 2;
/** More spaces in a row, after something else, are counted instead of shown. */
const MAX_SPACES = 24;

const HIDDEN =
  "\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u00a0\\u00ad\\u034f\\u0600-\\u0605\\u061c\\u06dd\\u070f\\u0890\\u0891\\u08e2" +
  "\\u115f\\u1160\\u1680\\u17b4\\u17b5\\u180b-\\u180f\\u2000-\\u200f\\u2028-\\u202f\\u205f-\\u206f\\u2800\\u3000\\u3164" +
  "\\ue000-\\uf8ff\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb\\ufffe\\uffff\\u{110bd}\\u{110cd}\\u{13430}-\\u{1343f}" +
  "\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{10ffff}\\ud800-\\udfff";
const ANY_HIDDEN = new RegExp(`[${HIDDEN}]`, "u");
const ALL_HIDDEN = new RegExp(`[${HIDDEN}]`, "gu");
const PICTORIAL = "\\u2190-\\u21ff\\u2300-\\u23ff\\u2600-\\u27bf\\u2b00-\\u2bff\\u{1f000}-\\u{1faff}";
/** Joiners and selectors inside an emoji are part of it. */
const AFTER_PICTURE = new RegExp(`[${PICTORIAL}]$`, "u");
const AFTER_JOINABLE = new RegExp(`[${PICTORIAL}]\\ufe0f*$`, "u");
const BEFORE_PICTURE = new RegExp(`^[${PICTORIAL}]`, "u");

export function hasHidden(text: string): boolean {
  return ANY_HIDDEN.test(text);
}

function name(letter: string): string {
  const code = letter.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  if (code === 0x7f) return "\u2421";
  return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

/** The text in pieces, with a mark for each invisible character. */
export function reveal(text: string): Piece[] {
  if (!hasHidden(text)) return [{ text, mark: false }];
  const pieces: Piece[] = [];
  let plain = "";
  let from = 0;
  for (const found of text.matchAll(ALL_HIDDEN)) {
    const [letter] = found;
    const before = text.slice(Math.max(0, found.index - 8), found.index);
    const after = text.slice(found.index + letter.length, found.index + letter.length + 2);
    const inPicture =
      letter === "\ufe0f" || letter === "\ufe0e"
        ? AFTER_PICTURE.test(before)
        : letter === "\u200d" && AFTER_JOINABLE.test(before) && BEFORE_PICTURE.test(after);
    plain += text.slice(from, found.index);
    from = found.index + letter.length;
    if (inPicture) {
      plain += letter;
      continue;
    }
    if (plain !== "") pieces.push({ text: plain, mark: false });
    plain = "";
    pieces.push({ text: name(letter), mark: true });
  }
  plain += text.slice(from);
  if (plain !== "") pieces.push({ text: plain, mark: false });
  return pieces;
}

/** The same as plain text, for places without markup. */
export function revealText(text: string): string {
  return reveal(text)
    .map((piece) => piece.text)
    .join("");
}

export interface Shown {
  pieces: Piece[];
  /** Number of lines of the text itself. */
  lines: number;
  /** Number of invisible characters. */
  hidden: number;
}

/** A command with everything visible and long gaps shown by their length, so that nothing is pushed out of sight. */
export function revealCommand(command: string): Shown {
  const text = command.replaceAll("\r\n", "\n");
  const lines = text.split("\n");
  const isOver = text.endsWith("\n");
  const pieces: Piece[] = [];
  let hidden = 0;
  const add = (more: Piece[]) => {
    for (const piece of more) {
      const last = pieces.at(-1);
      if (last !== undefined && !last.mark && !piece.mark) last.text += piece.text;
      else pieces.push({ ...piece });
    }
  };
  let blank = 0;
  const addBlank = (count: number) => {
    if (count > MAX_BLANK_LINES)
      add([
        { text: `⟨${count} blank lines⟩`, mark: true },
        { text: "\n", mark: false },
      ]);
    else if (count > 0) add([{ text: "\n".repeat(count), mark: false }]);
  };
  for (const line of lines) {
    if (/^[ \t]*$/.test(line)) {
      blank += 1;
      continue;
    }
    addBlank(blank);
    blank = 0;
    const revealed = reveal(line);
    hidden += revealed.filter((piece) => piece.mark).length;
    const parts = revealed.flatMap((piece) => (piece.mark ? [piece] : gaps(piece.text)));
    add([...parts, { text: "\n", mark: false }]);
  }
  addBlank(blank - (isOver && blank > 0 ? 1 : 0));
  while (pieces.at(-1)?.mark === false) {
    const last = pieces.at(-1)!;
    last.text = last.text.replace(/\n+$/, "");
    if (last.text !== "") break;
    pieces.pop();
  }
  return { pieces, lines: lines.length - (isOver ? 1 : 0), hidden };
}

/** Replaces long runs of spaces by their count. */
function gaps(text: string): Piece[] {
  const pieces: Piece[] = [];
  for (const part of text.split(new RegExp(`( {${MAX_SPACES + 1},})`))) {
    if (part === "") continue;
    const isGap = part.length > MAX_SPACES && part.trim() === "";
    pieces.push(isGap ? { text: `⟨${part.length} spaces⟩`, mark: true } : { text: part, mark: false });
  }
  return pieces;
}
