// Which attributes markup may have, by tag. Their values are checked here: they are not URLs, so the sanitizer's URL
// check does not apply.

const ALLOWED: Record<string, Record<string, RegExp>> = {
  OL: { start: /^\d{1,9}$/ },
  TD: { align: /^(?:left|center|right)$/ },
  TH: { align: /^(?:left|center|right)$/ },
  INPUT: { type: /^checkbox$/, checked: /^$/, disabled: /^$/ },
  A: { href: /^(?:https?|mailto):/i, title: /^/ },
};

export const ATTRIBUTES = [...new Set(Object.values(ALLOWED).flatMap(Object.keys))];

export function isAllowed(tag: string, name: string, value: string): boolean {
  const values = Object.hasOwn(ALLOWED, tag) ? ALLOWED[tag] : undefined;
  return values !== undefined && Object.hasOwn(values, name) && values[name]!.test(value);
}
