// What the device at hand is like.

/** A finger, and no keyboard with Ctrl: Enter starts a new line there, and buttons send. */
export const hasTouchOnly = matchMedia("(pointer: coarse)").matches;
