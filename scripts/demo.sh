#!/usr/bin/env bash
# Builds the page and the program, and runs them on the simulated CLI: no account, no cost.
#
# Without a terminal, or with DEMO_ONCE=1, it prints the link, takes the tour and exits.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/common.sh
source scripts/common.sh

step() { echo "demo: [$((SECONDS / 60)):$(printf %02d $((SECONDS % 60)))] $*"; }

# The page is built while Cargo fetches and compiles, because npm mostly waits for the network.
page=
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if [[ -f web/package.json ]] && scripts/setup-node.sh; then
    step "building the page"
    scripts/setup-web.sh --build >"$log" 2>&1 &
    page=$!
else
    step "npm not found, so the demo runs without the page"
fi

step "building the program (a few minutes the first time)"
# Not optimised: it starts sooner, and the demo has no load. `make install` builds the fast one.
cargo build --locked --bin weir

if [[ -n $page ]] && ! wait "$page"; then
    cat "$log" >&2
    step "the page could not be built, so the demo runs without it"
fi
rm -f "$log"
step "starting"
exec "${CARGO_TARGET_DIR:-target}/debug/weir" demo "$@"
