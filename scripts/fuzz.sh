#!/usr/bin/env bash
# Runs the fuzz targets, or shrinks their corpora.
#
#   scripts/fuzz.sh run [target…]    each target for $FUZZ_SECONDS (60)
#   scripts/fuzz.sh min [target…]    keep in fuzz/corpus only what adds coverage
#
# New inputs go to fuzz/corpus/<target>, or to $FUZZ_NEW/<target> if that is set (the corpus is then only read). Uses
# an installed nightly toolchain with the address sanitizer, otherwise the default one without a sanitizer;
# FUZZ_TOOLCHAIN selects another.
set -euo pipefail
cd "$(dirname "$0")/.."

mode=${1:-run}
if (($#)); then shift; fi
if (($# == 0)); then set -- decode fold; fi
seconds=${FUZZ_SECONDS:-60}
cargo_fuzz=$(scripts/setup-tools.sh --bin-dir)/cargo-fuzz

if [[ ! -f fuzz/Cargo.toml ]]; then
    echo "fuzz: fuzz/Cargo.toml not found" >&2
    exit 1
fi

toolchain=${FUZZ_TOOLCHAIN:-}
if [[ -z "$toolchain" ]] && command -v rustup >/dev/null 2>&1; then
    toolchain=$(rustup toolchain list | awk '/^nightly/ && !found { found = $1 } END { print found }')
fi
case "$toolchain" in
    nightly*) sanitizer=address ;;
    *) sanitizer=none ;;
esac
if [[ -n "$toolchain" ]]; then export RUSTUP_TOOLCHAIN=$toolchain; fi

for target in "$@"; do
    corpus=fuzz/corpus/$target
    mkdir -p "$corpus"
    case "$mode" in
        run)
            folders=("$corpus")
            if [[ -n "${FUZZ_NEW:-}" ]]; then
                mkdir -p "$FUZZ_NEW/$target"
                folders=("$FUZZ_NEW/$target" "$corpus")
            fi
            echo "fuzz: $target for $seconds s, sanitizer $sanitizer, toolchain ${toolchain:-default}"
            "$cargo_fuzz" run --fuzz-dir fuzz --sanitizer "$sanitizer" "$target" "${folders[@]}" -- \
                -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1
            ;;
        min)
            echo "fuzz: shrinking $corpus"
            "$cargo_fuzz" cmin --fuzz-dir fuzz --sanitizer "$sanitizer" "$target" "$corpus"
            ;;
        *)
            echo "fuzz: unknown mode '$mode'; known: run, min" >&2
            exit 2
            ;;
    esac
done
