// Draws a terminal screen as SVG: `tmux capture-pane -e -p | node terminal-picture.mjs TITLE > picture.svg`.
//
// Each run of one style gets the width of its cells, so that the picture looks the same in any monospace font.

const CELL = 8.4;
const LINE = 19;
const MARGIN = 16;
const BAR = 34;
const COLOURS = ["#3b4252", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d8dee9"];
const BRIGHT = ["#7f8794", "#ff7b86", "#b5e890", "#ffd68a", "#82c4ff", "#dd9bf0", "#74d4e0", "#ffffff"];
const TEXT = "#d8dee9";
const GROUND = "#1d2129";

/** The colour with this number among the 256 of a terminal. */
function indexed(number) {
  if (number < 8) return COLOURS[number];
  if (number < 16) return BRIGHT[number - 8];
  if (number >= 232) return grey((number - 232) * 10 + 8);
  const levels = [0, 95, 135, 175, 215, 255];
  const cube = number - 16;
  return `rgb(${levels[Math.floor(cube / 36)]},${levels[Math.floor(cube / 6) % 6]},${levels[cube % 6]})`;
}

function grey(level) {
  return `rgb(${level},${level},${level})`;
}

/** The style after an escape sequence for colours and weights (SGR). */
function restyle(style, parameters) {
  const next = { ...style };
  const codes = parameters === "" ? [0] : parameters.split(";").map(Number);
  while (codes.length > 0) {
    const code = codes.shift();
    if (code === 0) Object.keys(next).forEach((key) => delete next[key]);
    else if (code === 1) next.bold = true;
    else if (code === 2) next.dim = true;
    else if (code === 3) next.italic = true;
    else if (code === 4) next.underline = true;
    else if (code === 7) next.reverse = true;
    else if (code === 22) (delete next.bold, delete next.dim);
    else if (code === 23) delete next.italic;
    else if (code === 24) delete next.underline;
    else if (code === 27) delete next.reverse;
    else if (code === 38 || code === 48) {
      const colour = codes.shift() === 5 ? indexed(codes.shift()) : `rgb(${codes.splice(0, 3).join(",")})`;
      next[code === 38 ? "text" : "ground"] = colour;
    } else if (code === 39) delete next.text;
    else if (code === 49) delete next.ground;
    else if (code >= 30 && code <= 37) next.text = COLOURS[code - 30];
    else if (code >= 40 && code <= 47) next.ground = COLOURS[code - 40];
    else if (code >= 90 && code <= 97) next.text = BRIGHT[code - 90];
  }
  return next;
}

/** The screen as lines of runs `{ column, text, style }`. tmux keeps a style from one line to the next. */
function parse(screen) {
  let style = {};
  return screen.split("\n").map((line) => {
    const runs = [];
    let column = 0;
    for (const piece of line.split(/(\x1b\[[\d;]*m)/)) {
      const escape = /^\x1b\[([\d;]*)m$/.exec(piece);
      if (escape !== null) style = restyle(style, escape[1]);
      else if (piece !== "") {
        runs.push({ column, text: piece, style });
        column += [...piece].length;
      }
    }
    return runs;
  });
}

function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function number(value) {
  return String(Math.round(value * 10) / 10);
}

function drawn({ column, text, style }, line) {
  const body = text.trimEnd();
  const [front, ground] = style.reverse
    ? [style.ground ?? GROUND, style.text ?? TEXT]
    : [style.text ?? TEXT, style.ground];
  const x = MARGIN + column * CELL;
  const y = BAR + MARGIN + line * LINE;
  const shapes = [];
  if (ground !== undefined) {
    const width = [...text].length * CELL;
    shapes.push(`<rect x="${number(x)}" y="${number(y)}" width="${number(width)}" height="${LINE}" fill="${ground}"/>`);
  }
  const indent = body.length - body.trimStart().length;
  const shown = body.trimStart();
  if (shown === "") return shapes;
  const look = [`fill="${front}"`];
  if (style.bold) look.push('font-weight="bold"');
  if (style.dim) look.push('opacity="0.65"');
  if (style.italic) look.push('font-style="italic"');
  if (style.underline) look.push('text-decoration="underline"');
  const width = [...shown].length * CELL;
  shapes.push(
    `<text x="${number(x + indent * CELL)}" y="${number(y + 14)}" textLength="${number(width)}"` +
      ` lengthAdjust="spacingAndGlyphs" ${look.join(" ")}>${escaped(shown).replaceAll("  ", "\u00a0\u00a0")}</text>`,
  );
  return shapes;
}

function picture(title, screen) {
  const lines = parse(screen.replace(/\s+$/, ""));
  const columns = Number(process.env.COLUMNS ?? 92);
  const width = Math.ceil(MARGIN * 2 + columns * CELL);
  const height = BAR + MARGIN * 2 + lines.length * LINE;
  const dots = ["#ff5f57", "#febc2e", "#28c840"].map(
    (colour, at) => `<circle cx="${20 + at * 20}" cy="${BAR / 2}" r="6" fill="${colour}"/>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"` +
      ` font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="14" style="white-space: pre">`,
    `<rect width="${width}" height="${height}" rx="8" fill="${GROUND}"/>`,
    ...dots,
    `<text x="${width / 2}" y="${BAR / 2 + 5}" text-anchor="middle" fill="#7f8794">${escaped(title)}</text>`,
    ...lines.flatMap((runs, line) => runs.flatMap((run) => drawn(run, line))),
    "</svg>",
    "",
  ].join("\n");
}

let screen = "";
for await (const chunk of process.stdin.setEncoding("utf8")) screen += chunk;
process.stdout.write(picture(process.argv[2] ?? "", screen));
