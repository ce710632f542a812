#!/usr/bin/env bash
# The contributor's loop: seconds when little has changed, and nothing to install but Rust.
#
# Checks the format, lints the crates that differ from the main branch or are not committed, and runs the tests of the
# pure crates and the unit tests of changed crates.
set -euo pipefail
cd "$(dirname "$0")/.."

# Crates whose tests start no process and need no network.
pure=(weir-wire weir-transcript weir-trust)

base=$(git merge-base HEAD origin/main 2>/dev/null || git merge-base HEAD main 2>/dev/null || git rev-parse HEAD)
mapfile -t changed < <(
    { git diff --name-only "$base"; git ls-files --others --exclude-standard; } |
        sed -n 's,^crates/\([^/]*\)/.*,\1,p' | sort -u
)

echo "check: format"
cargo fmt --all --check

packages=()
for crate in "${changed[@]}"; do
    # A removed crate is listed as changed, too.
    if [[ -f crates/$crate/Cargo.toml && $crate != weir-matrix ]]; then packages+=(-p "$crate"); fi
done
if [[ ${#packages[@]} -gt 0 ]]; then
    echo "check: clippy of ${changed[*]}"
    cargo clippy --quiet --locked --all-targets "${packages[@]}" -- -D warnings
else
    echo "check: no crate has changed"
fi

tests=("${packages[@]}")
for crate in "${pure[@]}"; do tests+=(-p "$crate"); done
echo "check: unit tests of ${pure[*]} ${changed[*]}"
cargo test --quiet --locked --lib --bins "${tests[@]}"
scripts/check-tree.sh
