import { flushSync } from "svelte";

/** Puts the cursor into a field that a press has just brought up, at once: what is typed next belongs into it. */
export function focusNow(find: () => HTMLElement | null | undefined) {
  flushSync();
  find()?.focus();
}

/** Puts the cursor where the next message is written. */
export function focusComposer() {
  document.querySelector<HTMLElement>(".pane.active textarea[aria-label='Message to the agent']")?.focus();
}

/** The same after a dialog. Not where a keyboard would come up on the screen for it. */
export function focusComposerAfterDialog() {
  if (!matchMedia("(pointer: coarse)").matches) requestAnimationFrame(focusComposer);
}
