import { flushSync } from "svelte";

/** Focuses a field that was just opened, immediately: what is typed next belongs in it. */
export function focusNow(find: () => HTMLElement | null | undefined) {
  flushSync();
  find()?.focus();
}

/** Focuses the composer. */
export function focusComposer() {
  document.querySelector<HTMLElement>(".pane.active textarea[aria-label='Message to the agent']")?.focus();
}

/** Focuses the composer after a dialog, except where that would open an on-screen keyboard. */
export function focusComposerAfterDialog() {
  if (!matchMedia("(pointer: coarse)").matches) requestAnimationFrame(focusComposer);
}
