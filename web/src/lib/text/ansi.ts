// Terminal output: colours and weights become spans with classes; all other control sequences are dropped.

export interface Span {
  text: string;
  classes: string;
}

const ESCAPE = "\u001b";
// CSI sequences, OSC sequences up to their end, and other two-character escapes.
const SEQUENCE = new RegExp(
  `${ESCAPE}\\[([0-9;:?<=>]*)[ -/]*([@-~])|${ESCAPE}\\][^\\u0007${ESCAPE}]*(?:\\u0007|${ESCAPE}\\\\|$)|${ESCAPE}[^\\[\\]]?`,
  "g",
);

interface Style {
  fg: number | null;
  bg: number | null;
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
  inverse: boolean;
}

const plain = (): Style => ({
  fg: null,
  bg: null,
  bold: false,
  dim: false,
  italic: false,
  underline: false,
  inverse: false,
});

export function hasAnsi(text: string): boolean {
  return text.includes(ESCAPE);
}

/** The text in spans. Carriage returns overwrite the line, as progress bars intend. */
export function ansiSpans(text: string): Span[] {
  const spans: Span[] = [];
  let style = plain();
  let last = 0;
  const source = overwrite(text);
  for (const match of source.matchAll(SEQUENCE)) {
    push(spans, source.slice(last, match.index), style);
    last = match.index + match[0].length;
    if (match[2] === "m") style = restyle(style, match[1] ?? "");
  }
  push(spans, source.slice(last), style);
  return spans;
}

function overwrite(text: string): string {
  if (!text.includes("\r")) return text;
  return text
    .replaceAll("\r\n", "\n")
    .split("\n")
    .map((line) => {
      const parts = line.split("\r").filter((part) => part !== "");
      return parts.at(-1) ?? "";
    })
    .join("\n");
}

function push(spans: Span[], text: string, style: Style): void {
  if (text === "") return;
  const classes: string[] = [];
  const [fg, bg] = style.inverse ? [style.bg ?? -2, style.fg ?? -1] : [style.fg, style.bg];
  if (fg !== null) classes.push(fg < 0 ? "ansi-fg-inverse" : `ansi-fg-${fg}`);
  if (bg !== null) classes.push(bg < 0 ? "ansi-bg-inverse" : `ansi-bg-${bg}`);
  for (const name of ["bold", "dim", "italic", "underline"] as const) if (style[name]) classes.push(`ansi-${name}`);
  spans.push({ text, classes: classes.join(" ") });
}

function restyle(before: Style, codes: string): Style {
  let style = { ...before };
  const numbers = codes.split(/[;:]/).map((code) => (code === "" ? 0 : Number(code)));
  for (let at = 0; at < numbers.length; at += 1) {
    const code = numbers[at] ?? 0;
    if (code === 0) style = plain();
    else if (code === 1) style.bold = true;
    else if (code === 2) style.dim = true;
    else if (code === 3) style.italic = true;
    else if (code === 4) style.underline = true;
    else if (code === 7) style.inverse = true;
    else if (code === 22) style.bold = style.dim = false;
    else if (code === 23) style.italic = false;
    else if (code === 24) style.underline = false;
    else if (code === 27) style.inverse = false;
    else if (code >= 30 && code <= 37) style.fg = code - 30;
    else if (code >= 90 && code <= 97) style.fg = code - 82;
    else if (code === 39) style.fg = null;
    else if (code >= 40 && code <= 47) style.bg = code - 40;
    else if (code >= 100 && code <= 107) style.bg = code - 92;
    else if (code === 49) style.bg = null;
    else if (code === 38 || code === 48) {
      const [colour, used] = extended(numbers.slice(at + 1));
      if (code === 38) style.fg = colour;
      else style.bg = colour;
      at += used;
    }
  }
  return style;
}

/** The nearest of the sixteen basic colours to an extended one; the page's own palette keeps the contrast. */
function extended(numbers: number[]): [number | null, number] {
  if (numbers[0] === 5) return [nearest256(numbers[1] ?? 0), 2];
  if (numbers[0] === 2) return [nearest(numbers[1] ?? 0, numbers[2] ?? 0, numbers[3] ?? 0), 4];
  return [null, numbers.length];
}

function nearest256(index: number): number {
  if (index < 16) return index;
  if (index >= 232) return index < 238 ? 8 : index < 246 ? 7 : 15;
  const cube = index - 16;
  const level = (value: number) => (value === 0 ? 0 : 55 + value * 40);
  return nearest(level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6));
}

function nearest(red: number, green: number, blue: number): number {
  const most = Math.max(red, green, blue);
  if (most < 48) return 0;
  const bit = (value: number) => (value > most * 0.6 ? 1 : 0);
  const colour = bit(red) + 2 * bit(green) + 4 * bit(blue);
  return most > 200 ? colour + 8 : colour;
}
