#!/usr/bin/env bash
# Installs real CLI versions into a cache outside the source tree, for the tests that drive them.
#
#   scripts/setup-real-cli.sh                      the newest version in tests/real-cli-versions, or all of them for a
#                                                  long run of the tests (WEIR_LONG_TESTS=1)
#   scripts/setup-real-cli.sh 2.1.61 1.0.124 …     only the named ones
#   scripts/setup-real-cli.sh --print-path 2.1.9   print where its executable is, install nothing
#
# The cache is $WEIR_CACHE, else $XDG_CACHE_HOME/weir, else ~/.cache/weir; a version is in claude/VERSION and appears
# there only when complete. Each takes 80 to 350 MB. npm's own configuration decides where it comes from.
set -euo pipefail

package=@anthropic-ai/claude-code
pinned_versions=$(dirname "$0")/../tests/real-cli-versions

# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"
installed=$cache/claude

fail() {
    echo "setup-real-cli: $1" >&2
    exit "${2:-1}"
}

# The path of a version's executable.
executable() { echo "$installed/$1/node_modules/.bin/claude"; }

print_path=
if [[ "${1:-}" == --print-path ]]; then
    print_path=yes
    shift
fi
if [[ $# -eq 0 ]]; then
    count=1
    if [[ ${WEIR_LONG_TESTS:-} == 1 ]]; then count=100; fi
    while read -r version; do set -- "$@" "$version"; done < <(grep -E '^[0-9]' "$pinned_versions" | head -n "$count")
fi
for version in "$@"; do
    [[ "$version" =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$ ]] ||
        fail "'$version' is not a version: name them in full, for example 2.1.9" 2
done

if [[ -n "$print_path" ]]; then
    for version in "$@"; do
        [[ -x "$(executable "$version")" ]] ||
            fail "$version is not installed: run scripts/setup-real-cli.sh $version"
        executable "$version"
    done
    exit 0
fi

scratch=
cleanup() { if [[ -n "$scratch" ]]; then rm -rf "$scratch"; fi; }
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

need_npm() {
    if ! command -v npm >/dev/null 2>&1 || ! command -v node >/dev/null 2>&1; then
        fail "npm not found: install Node.js 20 or newer (it brings npm), or set WEIR_SKIP_REAL_CLI=1 to run the tests without the real CLI"
    fi
}

# Installs one version in a scratch folder and moves the finished result into place.
install_version() {
    local version=$1 started=$SECONDS reported log
    scratch=$(mktemp -d "$installed/build.XXXXXX")
    log=$scratch/npm.log
    mkdir "$scratch/tree"
    echo '{"name":"weir-real-cli","private":true}' >"$scratch/tree/package.json"
    echo "setup-real-cli: installing $package@$version with npm (once per version)"
    if ! npm install --prefix "$scratch/tree" --save-exact --no-audit --no-fund --no-update-notifier \
        --fetch-retries=2 --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=5000 \
        --loglevel=error "$package@$version" >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        if grep -qE 'ETARGET|E404' "$log"; then
            fail "$package has no version $version"
        fi
        fail "npm could not install $package@$version: check the network and npm's configuration (npm config list), then run it again"
    fi

    # A fresh home: it must not read or write the user's settings.
    mkdir "$scratch/home"
    reported=$(env -i HOME="$scratch/home" PATH="$PATH" TMPDIR="$scratch/home" DISABLE_AUTOUPDATER=1 \
        "$scratch/tree/node_modules/.bin/claude" --version </dev/null 2>"$log") || {
        tail -n 20 "$log" >&2
        fail "$package@$version was installed but does not run on this machine"
    }
    [[ "$reported" == "$version "* ]] ||
        fail "$package@$version was installed but reports version '$reported'"

    # rename(2), which refuses an existing folder; mv would move into it.
    node -e 'require("fs").renameSync(process.argv[1], process.argv[2])' "$scratch/tree" "$installed/$version"
    cleanup
    scratch=
    echo "setup-real-cli: installed $version in $((SECONDS - started)) s"
}

mkdir -p "$installed"
for version in "$@"; do
    if [[ -x "$(executable "$version")" ]]; then
        echo "setup-real-cli: $version is present"
        continue
    fi
    need_npm
    # One at a time if flock exists. Without it two runs may do the work twice; the rename still lets only one
    # succeed.
    if command -v flock >/dev/null 2>&1; then
        exec 9>"$installed/.lock"
        flock -n 9 || {
            echo "setup-real-cli: another run is installing; waiting for it"
            flock 9
        }
        if [[ -x "$(executable "$version")" ]]; then
            echo "setup-real-cli: $version is present"
            exec 9>&-
            continue
        fi
    fi
    rm -rf "${installed:?}/$version" # an incomplete folder made by hand
    install_version "$version"
    exec 9>&-
done
