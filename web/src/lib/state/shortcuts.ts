// Keyboard shortcuts of the whole page. Those of cards and the composer are defined there.

import type { App, PanelTab } from "./app.svelte.ts";
import { focusComposer, focusNow } from "./focus.ts";

export interface Shortcut {
  keys: string[];
  what: string;
}

/** Shown in the help, and listed in docs/page.md. */
export const SHORTCUTS: { title: string; list: Shortcut[] }[] = [
  {
    title: "Everywhere",
    list: [
      { keys: ["?"], what: "This help" },
      { keys: ["/"], what: "Write a message" },
      { keys: ["Ctrl", "K"], what: "Search sessions" },
      { keys: ["Ctrl", "F"], what: "Find in this session" },
      { keys: ["n"], what: "New session" },
      { keys: ["j"], what: "Next session" },
      { keys: ["k"], what: "Previous session" },
      { keys: ["["], what: "Show or hide the sessions" },
      { keys: ["]"], what: "Show or hide the details" },
      { keys: ["1…5"], what: "Changes, todos, agents, usage, raw" },
      { keys: ["End"], what: "Jump to the latest" },
      { keys: ["r"], what: "Go to the request that needs your answer" },
      { keys: ["Tab"], what: "Next control" },
    ],
  },
  {
    title: "On a request that has the focus",
    list: [
      { keys: ["a"], what: "Allow once; approve the plan" },
      { keys: ["s"], what: "Always allow…; approve the plan and accept edits" },
      { keys: ["e"], what: "Edit what it wants to do" },
      { keys: ["d"], what: "Deny, with a reason" },
      { keys: ["1…9"], what: "Choose an answer" },
      { keys: ["Enter"], what: "Send the answer" },
    ],
  },
  {
    title: "Writing",
    list: [
      { keys: ["Enter"], what: "Send, or queue while the agent works" },
      { keys: ["↑", "↓"], what: "Earlier messages, if nothing is typed" },
      { keys: ["Ctrl", "Enter"], what: "Steer: reach the agent while it works" },
      { keys: ["Shift", "Enter"], what: "New line" },
      { keys: ["Esc", "Esc"], what: "Interrupt the turn" },
      { keys: ["/"], what: "Slash commands" },
      { keys: ["@"], what: "Files of the folder" },
    ],
  },
];

const TABS: PanelTab[] = ["changes", "todos", "agents", "usage", "raw"];

export function shortcut(app: App, event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return;
  const target = event.target as HTMLElement;
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    app.showLeft();
    focusNow(() => document.getElementById("session-search"));
    return;
  }
  const isFind = (event.ctrlKey || event.metaKey) && !event.shiftKey && event.key.toLowerCase() === "f";
  // The browser's own search would only see the visible rows. Pressed again, it is the browser's.
  if (isFind && app.current !== null && app.dialog === null && app.finding !== app.current.id) {
    event.preventDefault();
    app.find(app.current.id);
    return;
  }
  if (event.key === "Escape" && app.drawer !== null) {
    app.drawer = null;
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (target.closest("input, textarea, select, dialog, [role=menu], [contenteditable]")) return;
  const act = actionOf(app, event.key, target);
  if (act === null) return;
  event.preventDefault();
  act();
}

function actionOf(app: App, key: string, target: HTMLElement): (() => void) | null {
  // Numbers answer a question first; the card has already handled those.
  const tab = TABS[Number(key) - 1];
  if (tab !== undefined) return () => app.toggleRight(tab);
  switch (key) {
    case "?":
      return () => (app.dialog = "help");
    case "/":
      return focusComposer;
    case "n":
      return app.may("driver") && !app.shared ? () => (app.dialog = "new") : null;
    case "j":
      return () => app.step(1);
    case "k":
      return () => app.step(-1);
    case "r":
      return () => document.querySelector<HTMLElement>(".pane.active [data-request]")?.focus();
    case "[":
      return () => app.toggleLeft();
    case "]":
      return () => app.toggleRight();
    case "End":
      return target.closest("pre, [role=region]")
        ? null
        : () => document.querySelector<HTMLElement>(".pane.active [data-latest]")?.click();
    default:
      return null;
  }
}
