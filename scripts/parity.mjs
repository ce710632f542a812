// Compares the type declarations of the official TypeScript SDK with docs/parity.md: each option, control request,
// message and hook has a row there that says where it is in Weir, or why it is not.
//
//   node scripts/parity.mjs [VERSION]     the newest 0.3 by default
//   node scripts/parity.mjs --offline     only checks that what the rows name exists in the sources
//
// Exits with 1 if a name has no row, a row has no name, or a row names something that does not exist, be it in the sources
// or in the tests on real CLIs. npm's own
// configuration decides where the package comes from; it is unpacked in a temporary folder.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, dirname } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const sdk = "@anthropic-ai/claude-agent-sdk";

/** The declarations of a version of the SDK, without comments. */
function declarations(version) {
  const folder = mkdtempSync(join(tmpdir(), "weir-parity-"));
  try {
    execFileSync("npm", ["pack", "--silent", `${sdk}@${version}`], { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
    const archive = readdirSync(folder).find((name) => name.endsWith(".tgz"));
    execFileSync("tar", ["-xzf", archive, "package/sdk.d.ts", "package/package.json"], { cwd: folder });
    const found = JSON.parse(readFileSync(join(folder, "package/package.json"), "utf8")).version;
    const text = readFileSync(join(folder, "package/sdk.d.ts"), "utf8");
    return { version: found, text: text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "") };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The text of `declare type NAME = …;` or `declare interface NAME …`, without its head. */
function body(text, name) {
  const head = new RegExp(`declare (?:type ${name} =|interface ${name}\\b[^{]*)`).exec(text);
  if (!head) return undefined;
  let depth = 0;
  for (let at = head.index + head[0].length; at < text.length; at += 1) {
    if ("{[(".includes(text[at])) depth += 1;
    if ("}])".includes(text[at])) depth -= 1;
    const ended = depth === 0 && (text[at] === ";" || (text[at] === "}" && head[0].includes("interface")));
    if (ended) return text.slice(head.index + head[0].length, at + 1);
  }
  return undefined;
}

/** The members of an object type, at its outermost level. */
function members(text, name) {
  const source = body(text, name);
  if (source === undefined) throw new Error(`the declarations have no type ${name}; adapt scripts/parity.mjs`);
  const names = [];
  let depth = 0;
  for (const line of source.split("\n")) {
    const found = depth === 1 ? /^\s+([A-Za-z_]\w*)\??\s*[:(]/.exec(line) : null;
    if (found) names.push(found[1]);
    for (const letter of line) depth += "{[(".includes(letter) ? 1 : "}])".includes(letter) ? -1 : 0;
  }
  return names;
}

/** The parts of a union, following aliases into other unions. */
function union(text, name) {
  const parts = (body(text, name) ?? "").replace(/;$/, "").split("|").map((part) => part.trim().replace(/^\w+\./, ""));
  return parts.flatMap((part) => {
    if (part.startsWith("'")) return [part.replaceAll("'", "")];
    const inner = body(text, part);
    return inner && !inner.includes("{") && inner.includes("|") ? union(text, part) : [part];
  });
}

/** `type` or `type/subtype` of a message. */
function messageNames(text, type) {
  const source = body(text, type) ?? "";
  const kinds = /^\s+type: ([^;]+);/m.exec(source)?.[1].match(/'[^']+'/g) ?? [];
  const subtypes = /^\s+subtype: ([^;]+);/m.exec(source)?.[1].match(/'[^']+'/g) ?? [];
  const plain = (quoted) => quoted.replaceAll("'", "");
  return kinds.flatMap((kind) => (subtypes.length ? subtypes.map((sub) => `${plain(kind)}/${plain(sub)}`) : [plain(kind)]));
}

/** Every section of the document with the names that it must have. */
function sections(text) {
  const requests = union(text, "SDKControlRequestInner").map((type) => /subtype: '([a-z_]+)'/.exec(body(text, type) ?? "")?.[1]);
  const messages = union(text, "StdoutMessage").flatMap((type) => messageNames(text, type));
  return {
    Options: members(text, "Options"),
    "The first request": members(text, "SDKControlInitializeRequest").filter((name) => name !== "subtype"),
    "Control requests": requests.filter(Boolean),
    "Methods of a query": members(text, "Query"),
    "Messages we send": members(text, "SDKUserMessage"),
    "Messages of the CLI": [...new Set(messages)],
    Hooks: union(text, "HookEvent"),
    "Definitions of agents": members(text, "AgentDefinition"),
    Functions: [...new Set([...text.matchAll(/export declare function (\w+)/g)].map((found) => found[1]))],
  };
}

/** The rows of the document by section: name, state and text. */
function rows(document) {
  const found = {};
  let section;
  for (const line of document.split("\n")) {
    const heading = /^## (.+)$/.exec(line);
    if (heading) section = found[heading[1]] = new Map();
    const row = /^\| `([^`]+)` \| (.+?) \| (.*) \|$/.exec(line);
    if (row && section) section.set(row[1], { state: row[2], text: row[3] });
  }
  return found;
}

/** All Rust sources as one text. */
function sources(folder) {
  return readdirSync(folder).map((name) => {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) return name === "tests" || name === "target" ? "" : sources(path);
    return name.endsWith(".rs") ? readFileSync(path, "utf8") : "";
  }).join("\n");
}

/** The sections whose rows also say what shows them on real CLIs. */
const shown = [
  "Options", "The first request", "Control requests", "Messages we send", "Messages of the CLI", "Hooks", "Definitions of agents",
];

/** Whether a row's last column names a scenario or a test that exists, or says that none does. */
function isShown(text, scenarios, tests) {
  const last = text.split(" | ").at(-1).trim();
  if (last === "not shown") return true;
  const scenario = /^`scenario ([a-z0-9-]+)`$/.exec(last);
  if (scenario) return scenarios.includes(`"${scenario[1]}"`);
  const test = /^`([a-z0-9_]+)`$/.exec(last);
  return test !== null && tests.includes(`fn ${test[1]}(`);
}

const states = ["yes", "own", "no", "missing"];

function check() {
  const offline = process.argv.includes("--offline");
  const version = process.argv.slice(2).find((argument) => !argument.startsWith("-")) ?? "0.3";
  const document = rows(readFileSync(join(root, "docs/parity.md"), "utf8"));
  const wrong = [];
  const rust = sources(join(root, "crates"));
  const scenarios = sources(join(root, "crates/weir-testkit/src/scenario/list"));
  const tests = sources(join(root, "crates/weir-session/tests/real"));
  for (const [section, names] of Object.entries(document)) {
    for (const [name, { state, text }] of names) {
      if (!states.includes(state)) wrong.push(`${section}: ${name} has the state "${state}"; use ${states.join(", ")}`);
      if (!text.trim()) wrong.push(`${section}: ${name} has no explanation`);
      if (state === "yes" && shown.includes(section) && !isShown(text, scenarios, tests)) {
        wrong.push(`${section}: ${name} does not name a scenario or a test on real CLIs that exists`);
      }
      if (state === "yes" && !text.includes("`")) wrong.push(`${section}: ${name} does not say where it is`);
      for (const [, type, item] of text.matchAll(/`([A-Z]\w*)::(\w+)[^`]*`/g)) {
        const exists = new RegExp(`\\b(?:fn ${item}\\b|${item}: |${item}\\s*[({,]|${item} = )`).test(rust) && rust.includes(type);
        if (!exists) wrong.push(`${section}: ${name} names ${type}::${item}, which is not in the sources`);
      }
    }
  }
  if (!offline) {
    const { version: found, text } = declarations(version);
    console.log(`${sdk} ${found}`);
    for (const [section, names] of Object.entries(sections(text))) {
      const listed = document[section] ?? new Map();
      for (const name of names) if (!listed.has(name)) wrong.push(`${section}: ${name} has no row`);
      for (const name of listed.keys()) if (!names.includes(name)) wrong.push(`${section}: ${name} is not declared any more`);
      const count = (state) => [...listed.values()].filter((row) => row.state === state).length;
      console.log(`  ${section}: ${names.length} (${states.map((state) => `${count(state)} ${state}`).join(", ")})`);
    }
  }
  for (const line of wrong) console.error(`parity: ${line}`);
  process.exitCode = wrong.length ? 1 : 0;
}

check();
