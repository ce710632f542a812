#!/usr/bin/env node
// Starts the weir program of this system, which npm installed as an optional dependency.
"use strict";

const { spawn } = require("node:child_process");

const name = `weir-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/weir`);
} catch {
  console.error(
    `weir: there is no package for this system (${name}), or npm was told to leave out optional dependencies.\n` +
      "With Rust it can be built from source: cargo install --locked weir-cli",
  );
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
child.on("error", (error) => {
  console.error(`weir: cannot start ${program}: ${error.message}`);
  process.exit(1);
});

// A terminal sends Ctrl-C to both of us, so only what was sent to this process alone is passed on; weir decides what
// a signal means and how long it takes to end.
process.on("SIGINT", () => {});
for (const signal of ["SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
