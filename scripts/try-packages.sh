#!/usr/bin/env bash
# Installs what `make dist` has built and starts it, as a new user would. Meant for a disposable system:
# scripts/fresh.sh packages runs it in one.
set -euo pipefail
cd "$(dirname "$0")/../target/dist"

say() { echo "try-packages: $*"; }
fail() {
    echo "try-packages: $*" >&2
    exit 1
}

[[ $(id -u) -eq 0 ]] || fail "needs root, to install a package"
place=$(mktemp -d)
server=
trap 'rm -rf "$place"' EXIT

say "checksums"
sha256sum --check --quiet SHA256SUMS

# check <program…>: it runs, knows its version, and serves the demo.
check() {
    local commit
    "$@" --version | head -n 1
    commit=$("$@" --version | sed -n 's/^commit: *//p')
    [[ -n $commit && $commit != unknown ]] || fail "the program does not know its commit"
    (cd "$place" && HOME=$place DEMO_ONCE=1 "$@" demo >"$place/demo.log" 2>&1) || {
        tail -n 20 "$place/demo.log" >&2
        fail "the demo failed"
    }
}

say "tarball"
tarball=$(echo weir-*-linux*.tar.gz)
tar -xzf "$tarball" -C "$place"
program=$place/${tarball%.tar.gz}/weir
# A tarball for another C library than musl says so in its name.
if [[ $tarball == *-linux.tar.gz ]] && ldd "$program" 2>&1 | grep -q '=>'; then
    fail "the program of the tarball is not static"
fi
check "$program"
for file in man/weir.1 man/weir-serve.1 completions/weir.bash completions/_weir completions/weir.fish weir.service; do
    [[ -s $(dirname "$program")/$file ]] || fail "the tarball lacks $file"
done
bash -n "$(dirname "$program")/completions/weir.bash"

say "Debian package"
apt-get install --yes --no-install-recommends ./weir_*.deb systemd >"$place/apt.log" 2>&1 || {
    tail -n 20 "$place/apt.log" >&2
    fail "apt could not install the package"
}
check /usr/bin/weir
[[ $(stat -c '%U %a' /var/lib/weir) == "weir 700" ]] || fail "/var/lib/weir: $(stat -c '%U %a' /var/lib/weir)"
[[ $(stat -c '%G %a' /etc/default/weir) == "weir 640" ]] || fail "/etc/default/weir is readable by others"
# It would ask man for the pages, which a bare system does not have.
systemd-analyze verify --man=no weir.service
for page in weir weir-serve; do
    dpkg --listfiles weir | grep -x "/usr/share/man/man1/$page.1.gz" >/dev/null ||
        fail "the package lacks the manual page $page(1)"
done
# As the unit starts it, but without a manager: with its user, folder and options. Not with runuser, which stays the
# parent and does not return the exit code of a program that it was told to end.
install -d -o weir -g weir "$place/run"
chmod 755 "$place"
setpriv --reuid weir --regid weir --init-groups env HOME=/var/lib/weir \
    /usr/bin/weir serve --data-dir /var/lib/weir/data --root /var/lib/weir/projects --listen 127.0.0.1:0 \
    --ready-file "$place/run/ready" --claude "$(command -v true)" >"$place/serve.log" 2>&1 &
server=$!
for _ in $(seq 100); do
    [[ -s $place/run/ready ]] && break
    kill -0 "$server" 2>/dev/null || { cat "$place/serve.log" >&2; fail "the server exited during startup"; }
    read -rt 0.1 <> <(:) || true
done
[[ -s $place/run/ready ]] || fail "the server did not start"
kill "$server"
wait "$server" || { cat "$place/serve.log" >&2; fail "the server did not exit cleanly"; }
apt-get purge --yes weir >>"$place/apt.log" 2>&1
[[ ! -e /var/lib/weir && ! -e /usr/bin/weir ]] || fail "purging the package left something behind"

say "npm package"
../../scripts/setup-node.sh
PATH=$(../../scripts/setup-tools.sh --cache-dir)/node/bin:$PATH
mkdir "$place/npm"
(cd "$place/npm" && npm install --silent --no-audit --no-fund "$OLDPWD"/weir-linux-*.tgz "$OLDPWD"/weir-[0-9]*.tgz)
check "$place/npm/node_modules/.bin/weir"
(cd "$place/npm" && npx --no-install weir --version >/dev/null)
say "all packages work"
