// Says what a first visit fetches, compressed, and fails above the budget.

import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const BUDGET = 180 * 1024;
const dist = new URL("../../crates/weir-server/page/dist/", import.meta.url);
const html = readFileSync(new URL("index.html", dist), "utf8");
// The icon of an installed page is only fetched when it is installed.
const fetched = html.replace(/<link rel="apple-touch-icon"[^>]*>/, "");
const files = ["index.html", ...[...fetched.matchAll(/(?:src|href)="\.\/([^"]+)"/g)].map((match) => match[1])];

// Fonts are fetched as soon as the styles name them.
for (const sheet of files.filter((file) => file.endsWith(".css"))) {
  const css = readFileSync(new URL(sheet, dist), "utf8");
  const fonts = [...css.matchAll(/url\("?([^")]+\.woff2)"?\)/g)].map((match) => match[1]);
  files.push(...fonts.map((font) => new URL(font, new URL(sheet, dist)).href));
}

let sum = 0;
for (const file of files) {
  const size = gzipSync(readFileSync(new URL(file, dist)), { level: 6 }).length;
  sum += size;
  console.log(`${String(size).padStart(8)}  ${file.replace(dist.href, "")}`);
}
console.log(`${String(sum).padStart(8)}  in all, of ${BUDGET}`);
const foreign = [...html.matchAll(/(?:src|href)="(?!\.\/)([^"]*)"/g)].map((match) => match[1]);
if (foreign.length > 0) {
  console.error(`index.html names other places: ${foreign.join(", ")}`);
  process.exit(1);
}
if (sum > BUDGET) {
  console.error("The first load is over its budget.");
  process.exit(1);
}
