#!/usr/bin/env bash
# Builds the page and the program, and shows them on the simulated CLI: no account, no cost.
#
# Without a terminal, or with DEMO_ONCE=1, it prints the link, takes the tour and ends.
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ ! -f web/package.json ]]; then
    echo "demo: there is no page in this tree; the server runs without it" >&2
elif scripts/setup-debian.sh npm; then
    scripts/setup-web.sh --build || echo "demo: the page could not be built; the server runs without it" >&2
else
    echo "demo: the page is built with npm, which is not here; the server runs without the page" >&2
fi

echo "demo: building the program, which takes some minutes the first time"
cargo build --release --locked --bin weir
exec "${CARGO_TARGET_DIR:-target}/release/weir" demo "$@"
