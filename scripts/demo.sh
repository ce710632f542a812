#!/usr/bin/env bash
# Asks the simulated CLI something in a folder of its own, which is gone afterwards.
set -euo pipefail
cd "$(dirname "$0")/.."

weir=$(realpath "${CARGO_TARGET_DIR:-target}/release/weir")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/home" "$work/workspace"
printf '# Demo\n\nA folder for the demo.\n' >"$work/workspace/README.md"
# Under this name the program plays the CLI.
ln -s "$weir" "$work/simulated-claude"

echo "demo: weir run \"$1\", with the simulated CLI: no account, no cost"
HOME=$work/home WEIR_STATE_DIR=$work/home/state WEIR_CACHE_DIR=$work/home/cache CLAUDE_CODE_ENABLE_TODO_TOOLS=1 \
    "$weir" run --claude "$work/simulated-claude" --cwd "$work/workspace" --permission-mode acceptEdits "$1"
