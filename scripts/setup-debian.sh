#!/usr/bin/env bash
# Installs Debian packages that the build of the page and the tests need, if they are missing.
#
#   scripts/setup-debian.sh bwrap chromium curl nginx python …
#
# Does nothing for what is present. On other systems it prints what is missing.
set -euo pipefail

# Whether a need is met. A program may be in /usr/sbin, like nginx, which is not in every PATH.
present() {
    case "$1" in
        # Debian packages pip and virtual environments separately from the interpreter.
        python) python3 -c 'import pip, ensurepip, venv' >/dev/null 2>&1 ;;
        *) PATH=$PATH:/usr/sbin command -v "$1" >/dev/null 2>&1 ;;
    esac
}

# Prints the packages for a need.
packages() {
    case "$1" in
        bwrap) echo bubblewrap ;;
        musl-gcc) echo musl-tools ;;
        python) echo python3 python3-pip python3-venv ;;
        *) echo "$1" ;;
    esac
}

missing=()
for need in "$@"; do
    if present "$need"; then
        echo "setup-debian: $need is present"
    else
        read -ra of_need < <(packages "$need")
        missing+=("${of_need[@]}")
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
# A lock keeps two runs apart: apt would refuse the second.
echo "setup-debian: installing ${missing[*]} with apt-get"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() {
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install \
        --yes --no-install-recommends "${missing[@]}" >"$log" 2>&1
}
if ! install; then
    # The package lists may be missing or outdated.
    "${root[@]}" apt-get -o DPkg::Lock::Timeout=300 update >>"$log" 2>&1 || true
    install || {
        tail -n 20 "$log" >&2
        echo "setup-debian: apt-get could not install ${missing[*]}" >&2
        exit 1
    }
fi
echo "setup-debian: installed ${missing[*]}"
