// Properties of the device.

/** A touch device without a Ctrl key: Enter starts a new line, and buttons send. */
export const hasTouchOnly = matchMedia("(pointer: coarse)").matches;
