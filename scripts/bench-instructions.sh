#!/usr/bin/env bash
# Counts instructions per line with valgrind: unlike times, they are the same on every run. The fixed cost of starting
# the program is subtracted by measuring two input sizes.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v valgrind >/dev/null; then
    echo "valgrind is needed: apt-get install valgrind" >&2
    exit 1
fi

cargo build --quiet --release --locked -p weir-bench
bench="${CARGO_TARGET_DIR:-target}/release/weir-bench"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$bench" write deltas quick >"$work/all"
lines=$(wc -l <"$work/all")
half=$((lines / 2))
head -n "$half" "$work/all" >"$work/half"

count() { # method file
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$bench" read "$1" deltas <"$2" 2>&1 >/dev/null |
        sed -n 's/.*Collected : //p'
}

printf '| method | instructions per delta line |\n|---|---:|\n'
for method in split serde-value serde-typed weir-decode weir-fold weir-events; do
    all=$(count "$method" "$work/all")
    first=$(count "$method" "$work/half")
    printf '| %s | %d |\n' "$method" $(((all - first) / (lines - half)))
done
