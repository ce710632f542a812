// Rules for tools as people type them: separated by commas or lines. A comma in parentheses belongs to its rule.

export function splitRules(typed: string): string[] {
  const rules: string[] = [];
  let rule = "";
  let depth = 0;
  for (const letter of typed) {
    if (letter === "(") depth += 1;
    else if (letter === ")") depth = Math.max(0, depth - 1);
    // A line break always ends a rule, so that an unclosed one does not swallow the rest.
    if (letter === "\n") depth = 0;
    if (letter === "\n" || (letter === "," && depth === 0)) {
      rules.push(rule);
      rule = "";
    } else rule += letter;
  }
  rules.push(rule);
  return [...new Set(rules.map((item) => item.trim()).filter((item) => item !== ""))];
}
