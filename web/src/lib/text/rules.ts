// Rules for tools as people type them: with commas or one a line. A comma in parentheses belongs to its rule.

export function splitRules(typed: string): string[] {
  const rules: string[] = [];
  let rule = "";
  let depth = 0;
  for (const letter of typed) {
    if (letter === "(") depth += 1;
    else if (letter === ")") depth = Math.max(0, depth - 1);
    // A line always ends a rule, so that one that was never closed does not swallow the others.
    if (letter === "\n") depth = 0;
    if (letter === "\n" || (letter === "," && depth === 0)) {
      rules.push(rule);
      rule = "";
    } else rule += letter;
  }
  rules.push(rule);
  return [...new Set(rules.map((item) => item.trim()).filter((item) => item !== ""))];
}
