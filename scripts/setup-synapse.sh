#!/usr/bin/env bash
# Installs the Matrix homeserver Synapse into a cache outside the source tree, for the tests of the bridge.
#
#   scripts/setup-synapse.sh                  installs it if it is missing
#   scripts/setup-synapse.sh --print-path     prints where it is, installs nothing
#
# The cache is $WEIR_CACHE, else $XDG_CACHE_HOME/weir, else ~/.cache/weir; Synapse is in synapse/VERSION-PYTHON and
# appears there only when complete (about 150 MB). The configuration of pip decides where it comes from. The tests
# start it with `python3 -m synapse.app.homeserver`, on loopback, in a temporary folder.
set -euo pipefail

version=1.163.2

fail() {
    echo "setup-synapse: $1" >&2
    exit "${2:-1}"
}

# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"
command -v python3 >/dev/null 2>&1 || fail "python3 not found: install Python 3.10 or newer, with pip"
# Parts of it are compiled for one Python version.
python=$(python3 -c 'import sys; print("py%d.%d" % sys.version_info[:2])')
installed=$cache/synapse/$version-$python

if [[ "${1:-}" == --print-path ]]; then
    [[ -d "$installed" ]] || fail "Synapse is not installed: run scripts/setup-synapse.sh"
    echo "$installed"
    exit 0
fi
[[ $# -eq 0 ]] || fail "unknown argument '$1'" 2

if [[ -d "$installed" ]]; then
    echo "setup-synapse: $version is present"
    exit 0
fi
python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || fail "Synapse needs Python 3.10 or newer, this is $python"

mkdir -p "$cache/synapse"
scratch=$(mktemp -d "$cache/synapse/build.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

echo "setup-synapse: installing matrix-synapse $version, which takes about a minute"
# A plain folder and not a virtual environment: it can be moved into place when complete.
PIP_ROOT_USER_ACTION=ignore python3 -m pip install --quiet --isolated --no-warn-conflicts --disable-pip-version-check \
    --only-binary :all: --target "$scratch/python" "matrix-synapse==$version"
PYTHONPATH="$scratch/python" python3 -c 'import synapse.app.homeserver' ||
    fail "Synapse was installed but cannot be started with $(command -v python3)"
mv "$scratch" "$installed"
trap - EXIT
echo "setup-synapse: installed in $installed"
