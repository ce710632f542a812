// Syntax highlighting. The highlighter is a separate chunk that is fetched with the first code block.

type Highlighter = typeof import("./languages.ts");

let loading: Promise<Highlighter> | null = null;
/** Highlighting time grows with the text; very long listings are shown without it. */
const MAX_LENGTH = 60_000;

/** Safe markup: the highlighter escapes the code and adds spans with classes. Null if the language is unknown. */
export async function highlight(code: string, language: string): Promise<string | null> {
  if (language === "" || code.length > MAX_LENGTH) return null;
  loading ??= import("./languages.ts");
  const { hljs, aliasOf } = await loading;
  const name = aliasOf(language.toLowerCase());
  return name === null ? null : hljs.highlight(code, { language: name, ignoreIllegals: true }).value;
}

const BY_ENDING: Record<string, string> = {
  rs: "rust",
  ts: "typescript",
  tsx: "typescript",
  mts: "typescript",
  js: "javascript",
  jsx: "javascript",
  mjs: "javascript",
  cjs: "javascript",
  py: "python",
  sh: "bash",
  bash: "bash",
  json: "json",
  jsonl: "json",
  toml: "ini",
  ini: "ini",
  yml: "yaml",
  yaml: "yaml",
  md: "markdown",
  html: "xml",
  xml: "xml",
  svelte: "xml",
  vue: "xml",
  svg: "xml",
  css: "css",
  scss: "css",
  c: "c",
  h: "c",
  cc: "cpp",
  cpp: "cpp",
  hpp: "cpp",
  go: "go",
  java: "java",
  kt: "kotlin",
  sql: "sql",
  rb: "ruby",
  php: "php",
  cs: "csharp",
  diff: "diff",
  patch: "diff",
  swift: "swift",
  lua: "lua",
};

export function languageOfPath(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (/^(Dockerfile|Makefile)/.test(name)) return "bash";
  return BY_ENDING[name.slice(name.lastIndexOf(".") + 1).toLowerCase()] ?? "";
}
