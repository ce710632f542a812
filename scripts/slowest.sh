#!/usr/bin/env bash
# Lists the ten slowest tests of the last run of cargo-nextest, from its report.
#
#   scripts/slowest.sh [profile]
set -euo pipefail
cd "$(dirname "$0")/.."

# In the workspace, wherever CARGO_TARGET_DIR points.
file=target/nextest/${1:-default}/junit.xml
[[ -f $file ]] || { echo "slowest: $file not found: run the tests with cargo nextest first" >&2; exit 1; }
echo "the ten slowest tests, in seconds:"
sed -n 's/.*<testcase name="\([^"]*\)" classname="\([^"]*\)".* time="\([^"]*\)".*/\3 \2 \1/p' "$file" |
    sort -rn | awk 'NR <= 10 { printf "  %7.1f  %s %s\n", $1, $2, $3 }'
