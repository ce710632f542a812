import { describe, expect, it } from "vitest";
import { contentOf, faultOf, initial } from "../src/lib/text/form.ts";
import type { FormField } from "../src/lib/api/schema.ts";

const field = (name: string, kind: FormField["kind"], more: Partial<FormField> = {}): FormField => ({
  name,
  label: name,
  required: false,
  kind,
  ...more,
});
const options = [
  { value: "a", label: "A" },
  { value: "b", label: "B" },
];
const name = field("name", { type: "text", min_length: 2, max_length: 4 }, { required: true });
const age = field("age", { type: "number", integer: true, minimum: 1, maximum: 9 }, { default: 3 });
const sure = field("sure", { type: "boolean" }, { default: true });
const size = field("size", { type: "choice", options });
const tags = field("tags", { type: "choices", options, max_items: 1 });
const fields = [name, age, sure, size, tags];

describe("a form of a server", () => {
  it("begins with what the server suggests", () => {
    expect(initial(fields)).toEqual({ name: "", age: "3", sure: true, size: "", tags: [] });
  });

  it("says what does not fit", () => {
    expect(faultOf(name, "")).toMatch(/required/);
    expect(faultOf(name, "a")).toMatch(/At least 2/);
    expect(faultOf(name, "abcde")).toMatch(/At most 4/);
    expect(faultOf(age, "old")).toMatch(/number/);
    expect(faultOf(age, "1.5")).toMatch(/whole/);
    expect(faultOf(age, "0")).toMatch(/At least 1/);
    expect(faultOf(age, "10")).toMatch(/At most 9/);
    expect(faultOf(tags, ["a", "b"])).toMatch(/at most 1/);
    for (const [one, entry] of [
      [name, "abc"],
      [age, ""],
      [size, ""],
      [tags, []],
      [sure, false],
    ] as const)
      expect(faultOf(one, entry as never)).toBe(null);
  });

  it("checks the formats that it knows", () => {
    const fault = (format: string, entry: string) => faultOf(field("f", { type: "text", format }), entry);
    for (const [format, fits, not] of [
      ["email", ["a@example.org", "a.b+c@localhost"], ["nonsense", "a@", "@b", "a b@c.org", "a@b@c", "a@b..org"]],
      ["uri", ["https://example.org/x?y=1", "mailto:a@b.c", "urn:isbn:1"], ["no url", "example.org", "https://", "/x"]],
      ["date", ["2026-02-28", "2028-02-29"], ["2026-02-29", "2026-13-01", "28.2.2026", "2026-2-28"]],
      [
        "date-time",
        ["2026-02-28T09:30:00Z", "2026-02-28T09:30:00.5+02:00"],
        ["2026-02-28", "2026-02-30T09:30:00Z", "2026-02-28T25:00:00Z", "2026-02-28T09:30"],
      ],
    ] as const) {
      for (const entry of fits) expect(fault(format, entry), `${format} ${entry}`).toBe(null);
      for (const entry of not) expect(fault(format, entry), `${format} ${entry}`).toMatch(/^Not a valid/);
    }
    expect(fault("email", "")).toBe(null);
    expect(fault("phone", "anything")).toBe(null);
  });

  it("sends what was entered, in the types of the fields", () => {
    expect(contentOf(fields, { name: " abc ", age: "4", sure: false, size: "b", tags: ["a"] })).toEqual({
      name: "abc",
      age: 4,
      sure: false,
      size: "b",
      tags: ["a"],
    });
    expect(contentOf(fields, initial([name, { ...age, default: null }]))).toEqual({ sure: false });
  });
});
