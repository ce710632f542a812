#!/usr/bin/env bash
# Measures how busy the page is while an agent writes, in Chromium, with a release build of the program.
#
# Prints NOT MEASURED, and why, if Node.js or Chromium is missing. Skipped with --quick: the release build takes
# longer than everything else that is measured.
set -euo pipefail
cd "$(dirname "$0")/.."

not_measured() {
    echo "page: NOT MEASURED: $1" >&2
    exit 0
}

[[ "${1:-}" != --quick ]] || not_measured "skipped in a short run"
command -v npm >/dev/null 2>&1 || not_measured "npm not found; on Debian: apt-get install nodejs npm"
if [[ -z "${CHROMIUM:-}" ]] && ! command -v chromium >/dev/null 2>&1; then
    not_measured "chromium not found; on Debian: apt-get install chromium"
fi

scripts/setup-web.sh --build
cargo build --release --quiet --locked --bin weir
target=${CARGO_TARGET_DIR:-target}
[[ "$target" == /* ]] || target=$PWD/$target
cd web
WEIR_BIN=$target/release/weir npm run --silent bench
