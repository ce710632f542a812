// The states of the agent at work, on a wide screen.

import { looksRight, WIDE } from "./looks.ts";
import { AT_WORK } from "./states.ts";

looksRight(AT_WORK, WIDE);
