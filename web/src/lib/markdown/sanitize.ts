// The last gate before markup reaches the page. Everything that is not plain prose is taken out.

import DOMPurify from "dompurify";
import { ATTRIBUTES, isAllowed } from "./attributes.ts";

const purify = DOMPurify(window);

purify.addHook("uponSanitizeAttribute", (node, attribute) => {
  if (!isAllowed(node.tagName, attribute.attrName, attribute.attrValue)) attribute.keepAttr = false;
});

purify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName === "INPUT") {
    // The box of a task list. Nothing can be entered into it, whatever it was before.
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
