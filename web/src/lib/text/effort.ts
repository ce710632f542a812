// How thoroughly the model works, in words.

import type { Effort } from "../api/schema.ts";

export const EFFORTS: readonly { name: Effort; text: string; note: string }[] = [
  { name: "low", text: "Low", note: "Quick and cheap" },
  { name: "medium", text: "Medium", note: "For everyday work" },
  { name: "high", text: "High", note: "Thinks longer" },
  { name: "xhigh", text: "Extra high", note: "For hard problems" },
  { name: "max", text: "Maximum", note: "As thorough as the model can be" },
];
