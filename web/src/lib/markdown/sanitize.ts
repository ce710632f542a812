// The last check before markup reaches the page. Everything but plain prose is removed.

import DOMPurify from "dompurify";
import { ATTRIBUTES, isAllowed } from "./attributes.ts";

const purify = DOMPurify(window);

purify.addHook("uponSanitizeAttribute", (node, attribute) => {
  if (!isAllowed(node.tagName, attribute.attrName, attribute.attrValue)) attribute.keepAttr = false;
});

purify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName === "INPUT") {
    // The checkbox of a task list. It is read-only, whatever it was before.
    node.setAttribute("type", "checkbox");
    node.setAttribute("disabled", "");
    node.setAttribute("aria-label", node.hasAttribute("checked") ? "done" : "not done");
  }
  if (node.tagName === "A") {
    node.setAttribute("target", "_blank");
    node.setAttribute("rel", "noopener noreferrer nofollow");
  }
});

export function sanitize(html: string): string {
  return purify.sanitize(html, {
    ALLOWED_TAGS: [
      "a",
      "blockquote",
      "br",
      "code",
      "del",
      "em",
      "h1",
      "h2",
      "h3",
      "h4",
      "h5",
      "h6",
      "hr",
      "input",
      "li",
      "ol",
      "p",
      "pre",
      "s",
      "strong",
      "sub",
      "sup",
      "table",
      "tbody",
      "td",
      "th",
      "thead",
      "tr",
      "ul",
    ],
    ALLOWED_ATTR: ATTRIBUTES,
    ADD_URI_SAFE_ATTR: ["align", "start", "type"],
    ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
  });
}
