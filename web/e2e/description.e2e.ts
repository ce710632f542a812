// The page is compiled against an OpenAPI document: it must be the one that the server serves.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { program } from "./server.ts";

it("openapi.json is what the server prints", () => {
  const printed = execFileSync(program(), ["serve", "--print-openapi"], { encoding: "utf8", maxBuffer: 1 << 26 });
  const kept = readFileSync(new URL("../openapi.json", import.meta.url), "utf8");
  expect(JSON.parse(kept), "run `weir serve --print-openapi > web/openapi.json` and `npm run types`").toEqual(
    JSON.parse(printed),
  );
});
