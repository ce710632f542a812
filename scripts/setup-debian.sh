#!/usr/bin/env bash
# Installs what tests need from Debian's packages, if it is not there: a browser, a proxy.
#
#   scripts/setup-debian.sh chromium nginx …
#
# Does nothing for a program that is on the PATH. Elsewhere than on Debian it says what is missing.
set -euo pipefail

missing=()
for program in "$@"; do
    # nginx lies in /usr/sbin, which is not on everybody's PATH.
    if PATH=$PATH:/usr/sbin command -v "$program" >/dev/null 2>&1; then
        echo "setup-debian: $program is present"
    else
        missing+=("$program")
    fi
done
[[ ${#missing[@]} -eq 0 ]] && exit 0

if ! command -v apt-get >/dev/null 2>&1; then
    echo "setup-debian: not found: ${missing[*]}. Install them with the package manager of this system" >&2
    exit 1
fi
root=()
if [[ $(id -u) -ne 0 ]]; then
    command -v sudo >/dev/null 2>&1 || {
        echo "setup-debian: not found: ${missing[*]}. As root: apt-get install ${missing[*]}" >&2
        exit 1
    }
    root=(sudo)
fi
# A lock keeps two runs apart: apt refuses the second.
echo "setup-debian: installing ${missing[*]} with apt-get"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() {
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install \
        --yes --no-install-recommends "${missing[@]}" >"$log" 2>&1
}
if ! install; then
    # The list of packages may be missing or old.
    "${root[@]}" apt-get -o DPkg::Lock::Timeout=300 update >>"$log" 2>&1 || true
    install || {
        tail -n 20 "$log" >&2
        echo "setup-debian: apt-get could not install ${missing[*]}" >&2
        exit 1
    }
fi
echo "setup-debian: installed ${missing[*]}"
