// Forms of MCP servers: what was entered, whether it is valid, and what is sent. The server validates it again.

import type { FormField } from "../api/schema.ts";

export type Entered = Record<string, string | boolean | string[]>;

export function initial(fields: FormField[]): Entered {
  return Object.fromEntries(fields.map((field) => [field.name, initialOf(field)]));
}

function initialOf({ kind, default: value }: FormField): string | boolean | string[] {
  switch (kind.type) {
    case "boolean":
      return value === true;
    case "choices":
      return Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : [];
    default:
      return typeof value === "string" || typeof value === "number" ? String(value) : "";
  }
}

/** What is wrong with an entry; null if it is valid. */
export function faultOf(field: FormField, entry: Entered[string] | undefined): string | null {
  const { kind, required } = field;
  switch (kind.type) {
    case "boolean":
      return null;
    case "choices": {
      const count = Array.isArray(entry) ? entry.length : 0;
      if (count === 0 && !required) return null;
      if (count < (kind.min_items ?? (required ? 1 : 0))) return `Choose at least ${kind.min_items ?? 1}.`;
      return kind.max_items != null && count > kind.max_items ? `Choose at most ${kind.max_items}.` : null;
    }
    default:
  }
  const text = typeof entry === "string" ? entry.trim() : "";
  if (text === "") return required ? "This field is required." : null;
  if (kind.type === "number") {
    const number = Number(text);
    if (!Number.isFinite(number)) return "Enter a number.";
    if (kind.integer && !Number.isInteger(number)) return "Enter a whole number.";
    if (kind.minimum != null && number < kind.minimum) return `At least ${kind.minimum}.`;
    return kind.maximum != null && number > kind.maximum ? `At most ${kind.maximum}.` : null;
  }
  if (kind.type === "text") {
    const length = [...text].length;
    if (kind.min_length != null && length < kind.min_length) return `At least ${kind.min_length} characters.`;
    if (kind.max_length != null && length > kind.max_length) return `At most ${kind.max_length} characters.`;
    const format = FORMATS[kind.format ?? ""];
    return format === undefined || format.fits(text) ? null : format.fault;
  }
  return null;
}

/** Formats that MCP defines. Others are left to the server. */
const FORMATS: Partial<Record<string, { fits(text: string): boolean; fault: string }>> = {
  email: {
    fits: (text) => /^[^\s@]+@[^\s@.]+(?:\.[^\s@.]+)*$/.test(text),
    fault: "Not a valid email address.",
  },
  uri: {
    fits: (text) => /^[a-z][a-z\d+.-]*:\S+$/i.test(text) && URL.canParse(text),
    fault: "Not a valid URL. Include the https://.",
  },
  date: { fits: isDate, fault: "Not a valid date (YYYY-MM-DD)." },
  "date-time": {
    fits: (text) => {
      const [, date = "", rest] =
        /^([^Tt]*)[Tt](?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i.exec(
          text,
        ) ?? [];
      return rest !== undefined && isDate(date);
    },
    fault: "Not a valid date and time (such as 2026-01-31T09:30:00Z).",
  },
};

function isDate(text: string): boolean {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return false;
  const date = new Date(`${text}T00:00:00Z`);
  // A day beyond the end of the month rolls over into the next month.
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

/** The content to send, without empty fields. */
export function contentOf(fields: FormField[], entered: Entered): Record<string, unknown> {
  const content: Record<string, unknown> = {};
  for (const { name, kind, required } of fields) {
    const entry = entered[name];
    if (kind.type === "boolean") content[name] = entry === true;
    else if (kind.type === "choices") {
      if (Array.isArray(entry) && (entry.length > 0 || required)) content[name] = entry;
    } else if (typeof entry === "string" && entry.trim() !== "")
      content[name] = kind.type === "number" ? Number(entry) : entry.trim();
  }
  return content;
}
