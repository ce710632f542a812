#!/usr/bin/env bash
# Installs OpenAI's clients for Python and Node into a cache outside the source tree, for the tests of the OpenAI
# front.
#
#   scripts/setup-openai-clients.sh                  installs what is missing
#   scripts/setup-openai-clients.sh --print-path     prints where they are, installs nothing
#
# The cache is $WEIR_CACHE, else $XDG_CACHE_HOME/weir, else ~/.cache/weir; the clients are in openai-clients/VERSIONS
# and appear there only when complete. The configurations of pip and npm decide where they come from.
set -euo pipefail

python_version=3.49.0
node_version=6.30.1

# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"
installed=$cache/openai-clients/$python_version-$node_version

fail() {
    echo "setup-openai-clients: $1" >&2
    exit "${2:-1}"
}

if [[ "${1:-}" == --print-path ]]; then
    [[ -d "$installed" ]] || fail "the clients are not installed: run scripts/setup-openai-clients.sh"
    echo "$installed"
    exit 0
fi
[[ $# -eq 0 ]] || fail "unknown argument '$1'" 2

if [[ -d "$installed" ]]; then
    echo "setup-openai-clients: python $python_version and node $node_version are present"
    exit 0
fi
command -v python3 >/dev/null 2>&1 || fail "python3 not found: install Python 3.9 or newer, with venv"
command -v npm >/dev/null 2>&1 || fail "npm not found: install Node.js 20 or newer (it brings npm)"

mkdir -p "$cache/openai-clients"
scratch=$(mktemp -d "$cache/openai-clients/build.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

echo "setup-openai-clients: installing openai $python_version (Python) and $node_version (Node)"
# A plain folder and not a virtual environment: it can be moved into place when complete.
PIP_ROOT_USER_ACTION=ignore python3 -m pip install --quiet --isolated --no-warn-conflicts --disable-pip-version-check --target "$scratch/python" "openai==$python_version"
npm install --silent --no-audit --no-fund --prefix "$scratch/node" "openai@$node_version"
mv "$scratch" "$installed"
trap - EXIT
echo "setup-openai-clients: installed in $installed"
