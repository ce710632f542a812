#!/usr/bin/env bash
# Lists what each crate costs to compile for `make demo`: CPU seconds of the compilers, not time on the clock, so that
# other work on the machine does not matter. Builds into a temporary folder.
#
#   scripts/build-cost.sh                       the program that the demo builds
#   scripts/build-cost.sh -p weir-cli --features matrix --bin weir    any other arguments of cargo build
set -euo pipefail
cd "$(dirname "$0")/.."
if [[ $# -eq 0 ]]; then set -- --bin weir; fi

place=$(mktemp -d "${TMPDIR:-/tmp}/weir-cost.XXXXXX")
trap 'rm -rf "$place"' EXIT

# Both wrappers run a compiler and append "<crate> <CPU seconds>" to the list.
cat >"$place/rustc" <<'SH'
#!/usr/bin/env bash
name=other
previous=
for argument in "$@"; do
    if [[ $previous == --crate-name ]]; then name=$argument; fi
    previous=$argument
done
TIMEFORMAT="$name %U %S"
{ time "$@" 2>&3 3>&-; } 3>&2 2>>"$COST_LIST"
SH
cat >"$place/cc" <<'SH'
#!/usr/bin/env bash
TIMEFORMAT="${CARGO_PKG_NAME:-c} %U %S"
{ time cc "$@" 2>&3 3>&-; } 3>&2 2>>"$COST_LIST"
SH
chmod +x "$place/rustc" "$place/cc"

COST_LIST=$place/list RUSTC_WRAPPER=$place/rustc CC=$place/cc CARGO_TARGET_DIR=$place/target CARGO_INCREMENTAL=0 \
    cargo build --quiet --locked "$@"

# A crate's build script and its C code count for the crate.
awk '
    $1 == "build_script_build" || $1 == "build_script_main" { $1 = "(build scripts)" }
    $1 != "___" { gsub(/-/, "_", $1); cost[$1] += $2 + $3; total += $2 + $3 }
    END {
        for (name in cost) printf "%8.1f  %s\n", cost[name], name | "sort -rn | head -n 40"
        close("sort -rn | head -n 40")
        printf "%8.1f  all %d crates\n", total, length(cost)
    }' "$place/list"
