// The states of the agent at work, on a phone.

import { looksRight, ON_A_PHONE } from "./looks.ts";
import { AT_WORK } from "./states.ts";

looksRight(AT_WORK, ON_A_PHONE);
