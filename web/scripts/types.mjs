// Writes src/lib/api/schema.ts: the types of the API and of the view, from the server's own description of them.
// With --check it only says whether the file is up to date.

import { readFileSync, writeFileSync } from "node:fs";

const source = new URL("../openapi.json", import.meta.url);
const target = new URL("../src/lib/api/schema.ts", import.meta.url);
const { schemas } = JSON.parse(readFileSync(source, "utf8")).components;

/** Members that may be left out by who writes to the server, and that the server itself always writes. */
const WRITTEN = {
  Agent: ["background", "description", "progress"],
  BackgroundTask: ["description"],
  HookRun: ["event", "name"],
  Output: ["images", "line"],
  ThinkingEntry: ["redacted"],
  ToolCall: ["detail", "server", "title"],
  UnknownEntry: ["line"],
  UserEntry: ["images"],
};

function typeOf(schema) {
  if (schema === true || schema === undefined || Object.keys(schema).length === 0) return "unknown";
  if (schema.$ref) return schema.$ref.split("/").at(-1);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.oneOf ?? schema.anyOf) return [...new Set((schema.oneOf ?? schema.anyOf).map(inner))].join(" | ");
  if (schema.allOf) return schema.allOf.map(inner).join(" & ");
  if (Array.isArray(schema.type)) {
    return [...new Set(schema.type.map((type) => inner({ ...schema, type })))].join(" | ");
  }
  switch (schema.type) {
    case "string":
      return "string";
    case "integer":
    case "number":
      return "number";
    case "boolean":
      return "boolean";
    case "null":
      return "null";
    case "array":
      return `Array<${typeOf(schema.items)}>`;
    case "object":
      return objectOf(schema);
    default:
      return "unknown";
  }
}

function written(name, schema) {
  const more = WRITTEN[name];
  return more ? { ...schema, required: [...(schema.required ?? []), ...more] } : schema;
}

function inner(schema) {
  const type = typeOf(schema);
  return type.includes(" | ") || type.includes(" & ") ? `(${type})` : type;
}

function objectOf(schema) {
  const members = Object.entries(schema.properties ?? {});
  if (members.length === 0) {
    const value = schema.additionalProperties;
    return `Record<string, ${value && value !== true ? typeOf(value) : "unknown"}>`;
  }
  const required = new Set(schema.required ?? []);
  const lines = members.map(([name, member]) => `  ${name}${required.has(name) ? "" : "?"}: ${typeOf(member)};`);
  return `{\n${lines.join("\n")}\n}`;
}

const names = Object.keys(schemas).sort();
const text = [
  "// Written by `npm run types` from openapi.json. Do not edit.",
  ...names.map((name) => `export type ${name} = ${typeOf(written(name, schemas[name]))};`),
  "",
].join("\n\n");

if (process.argv.includes("--check")) {
  let there = "";
  try {
    there = readFileSync(target, "utf8");
  } catch {
    // Not written yet.
  }
  if (there !== text) {
    console.error("src/lib/api/schema.ts is out of date: run `npm run types`");
    process.exit(1);
  }
} else writeFileSync(target, text);
