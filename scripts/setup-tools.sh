#!/usr/bin/env bash
# Installs the pinned development tools into a cache outside the source tree.
#
#   scripts/setup-tools.sh                     all tools
#   scripts/setup-tools.sh cargo-fuzz …        only the named ones
#   scripts/setup-tools.sh --bin-dir           print where the executables are, install nothing
#   scripts/setup-tools.sh --cache-dir         print where the cache is
#
# The cache is $WEIR_CACHE, else $XDG_CACHE_HOME/weir, else ~/.cache/weir. Every version has its own folder and
# appears there only when complete; tools/bin links to the versions pinned here.
set -euo pipefail

# Prints "<version> <name of the executable> <options of cargo install>", or fails for an unknown tool. Tools that run
# for seconds are built without optimisation, which takes a third of the time.
pinned() {
    case "$1" in
        cargo-deny)    echo "0.20.2 cargo-deny" ;;
        cargo-machete) echo "0.9.2 cargo-machete" ;;
        typos-cli)     echo "1.52.0 typos" ;;
        cargo-fuzz)    echo "0.13.2 cargo-fuzz" ;;
        cargo-deb)     echo "3.8.0 cargo-deb --debug" ;;
        cargo-nextest) echo "0.9.151 cargo-nextest --debug --no-default-features --features default-no-update" ;;
        mdbook)        echo "0.5.4 mdbook --debug" ;;
        *) return 1 ;;
    esac
}
all_tools=(cargo-machete typos-cli cargo-fuzz cargo-deny cargo-nextest cargo-deb mdbook)

# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"
tools=$cache/tools

if [[ "${1:-}" == --cache-dir ]]; then
    echo "$cache"
    exit 0
elif [[ "${1:-}" == --bin-dir ]]; then
    echo "$tools/bin"
    exit 0
fi

scratch=
cleanup() { if [[ -n "$scratch" ]]; then rm -rf "$scratch"; fi; }
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Whether the machine has the tool already. Any version from recent years is good enough to run tests.
is_elsewhere() { [[ -n "$(command -v "$1" || true)" && ! -e "$tools/bin/$1" ]]; }

# Builds one tool in a scratch folder, then moves the finished result into place.
install_tool() {
    local name=$1 version=$2 executable=$3 started=$SECONDS
    shift 3
    local home=$tools/$name-$version

    if [[ $name == cargo-nextest ]] && is_elsewhere "$executable"; then
        echo "setup-tools: $name is present ($(command -v "$executable"))"
        return
    elif [[ -x "$home/bin/$executable" ]]; then
        echo "setup-tools: $name $version is present"
    else
        echo "setup-tools: building $name $version from crates.io (once per version; may take minutes)"
        scratch=$(mktemp -d "$tools/build.XXXXXX")
        CARGO_TARGET_DIR=$scratch/target cargo install --locked --root "$scratch/root" --version "=$version" "$name" "$@"
        rm -rf "$home"
        mv "$scratch/root" "$home"
        cleanup
        scratch=
        echo "setup-tools: installed $name $version in $((SECONDS - started)) s"
    fi
    ln -sfn "../$name-$version/bin/$executable" "$tools/bin/$executable"
}

if [[ $# -eq 0 ]]; then
    set -- "${all_tools[@]}"
fi

for name in "$@"; do
    if ! pinned "$name" >/dev/null; then
        echo "setup-tools: unknown tool '$name'; known: ${all_tools[*]}" >&2
        exit 2
    fi
done

mkdir -p "$tools/bin"
for name in "$@"; do
    read -ra tool < <(pinned "$name")
    install_tool "$name" "${tool[@]}"
done
