#!/usr/bin/env bash
# Installs the Node packages of the page, as pinned in web/package-lock.json, unless they are present.
#
#   scripts/setup-web.sh            install what is missing
#   scripts/setup-web.sh --build    and build the page into the server's crate, if its sources have changed
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"
cd "$(dirname "$0")/../web"

if ! command -v npm >/dev/null 2>&1; then
    echo "setup-web: npm not found: the page is built with Node.js 20 or newer. scripts/setup-node.sh installs it" >&2
    exit 1
fi

# npm writes this file last, so it exists only after a complete installation.
if [[ node_modules/.package-lock.json -nt package-lock.json ]]; then
    echo "setup-web: the packages are present"
else
    echo "setup-web: installing the packages of the page with npm"
    # `npm install` and not `npm ci`: a lock file written on one system may lack the optional packages of others,
    # which `npm ci` treats as an error. The versions are those of the lock file either way.
    npm install --no-save --no-audit --no-fund --no-update-notifier --loglevel=error
    touch node_modules/.package-lock.json
fi

if [[ "${1:-}" == --build ]]; then
    built=../crates/weir-server/page/dist/index.html
    newer=$(find src public index.html package-lock.json ./*.ts ./*.js -newer "$built" -print -quit 2>/dev/null || true)
    if [[ -f $built && -z "$newer" ]]; then
        echo "setup-web: the page is up to date"
    else
        echo "setup-web: building the page"
        npm run --silent build
    fi
fi
