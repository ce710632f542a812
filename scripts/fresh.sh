#!/usr/bin/env bash
# Runs the two commands of the README on a bare Debian with empty caches, and prints how long they took.
#
#   scripts/fresh.sh                  make demo, then make test, on Debian 13 (trixie)
#   scripts/fresh.sh -s bookworm demo only make demo, on Debian 12
#   scripts/fresh.sh packages         what `make dist` has built, installed and started there
#
# Needs root and installs debootstrap. Rust comes from this machine, because the README requires it; nothing else
# does: the system is built from Debian packages, the tree is a clone of the last commit, and HOME is empty. The
# configurations of Cargo, npm and pip are copied, so that a mirror is used if there is one.
set -euo pipefail
cd "$(dirname "$0")/.."

suite=trixie
while getopts s: option; do
    case "$option" in
        s) suite=$OPTARG ;;
        *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
if [[ $# -eq 0 ]]; then set -- demo test; fi

[[ $(id -u) -eq 0 ]] || { echo "fresh: needs root, to make a system of its own" >&2; exit 1; }
scripts/setup-debian.sh debootstrap

say() { echo "fresh: $*"; }
place=$(mktemp -d "${TMPDIR:-/tmp}/weir-fresh.XXXXXX")
system=$place/system

cleanup() {
    local status=$?
    for mounted in usr/local/rust dev/shm dev/pts dev sys; do
        umount -l "$system/$mounted" 2>/dev/null || true
    done
    rm -rf --one-file-system "$place"
    exit "$status"
}
trap cleanup EXIT

say "making a $suite system"
# The mirror that this machine uses, if configured; not every system has both places.
mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
    sed -nE 's,^(deb|URIs:)( \[[^]]*\])? *(http[^ ]+/debian/?)( .*)?$,\3,p' | sed -n 1p) || true
debootstrap --variant=minbase --include=ca-certificates,g++,git,make "$suite" "$system" ${mirror:+"$mirror"} \
    >"$place/debootstrap.log" 2>&1 || { tail -n 20 "$place/debootstrap.log" >&2; exit 1; }
cp /etc/resolv.conf "$system/etc/resolv.conf" 2>/dev/null || true
cp -r /usr/local/share/ca-certificates "$system/usr/local/share/" 2>/dev/null || true
cp /etc/ssl/certs/ca-certificates.crt "$system/etc/ssl/certs/ca-certificates.crt"
for file in /etc/apt/apt.conf.d/*proxy* /etc/pip.conf; do
    if [[ -f $file ]]; then install -D -m 644 "$file" "$system$file"; fi
done
mount --rbind /sys "$system/sys" && mount --make-rslave "$system/sys"
mount --bind /dev "$system/dev"
mount --bind /dev/pts "$system/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$system/dev/shm"

toolchain=$(rustc --print sysroot)
mkdir -p "$system/usr/local/rust"
mount --bind -o ro "$toolchain" "$system/usr/local/rust"
home=$system/home/fresh
mkdir -p "$home/.cargo" "$home/.config"
for file in config config.toml; do
    if [[ -f ${CARGO_HOME:-$HOME/.cargo}/$file ]]; then cp "${CARGO_HOME:-$HOME/.cargo}/$file" "$home/.cargo/"; fi
done
if [[ -f $HOME/.npmrc ]]; then cp "$HOME/.npmrc" "$home/"; fi
if [[ -d $HOME/.config/pip ]]; then cp -r "$HOME/.config/pip" "$home/.config/"; fi

git clone --quiet --no-hardlinks . "$home/weir"
if [[ -d target/dist ]]; then mkdir -p "$home/weir/target" && cp -r target/dist "$home/weir/target/dist"; fi

variables=(HOME=/home/fresh LANG=C.UTF-8 TERM=dumb CARGO_TERM_COLOR=never
    PATH=/usr/local/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin)
while IFS= read -r name; do variables+=("$name=${!name}"); done < <(
    compgen -e | grep -iE '^(https?_proxy|no_proxy|all_proxy|ssl_cert_file|node_extra_ca_certs|pip_index_url|pip_cert|npm_config_registry|requests_ca_bundle|curl_ca_bundle|cargo_http_cainfo)$' || true)

# Not chroot alone: the kernel lets nothing in a chroot make a namespace, and the sandbox of sessions needs one. So the
# system becomes the root of a mount namespace. What still runs there ends with the command.
inside() {
    env -i "${variables[@]}" unshare --mount --pid --fork --kill-child bash -c '
        set -e
        mount --make-rprivate /
        mount --rbind "$1" "$1"
        mount -t proc proc "$1/proc"
        cd "$1" && mkdir -p old-root && pivot_root . old-root && umount --lazy /old-root
        cd /home/fresh/weir && exec bash -c "$2"' inside "$system" "$1"
}

for command in "$@"; do
    started=$SECONDS
    say "$command"
    case "$command" in
        demo) inside "DEMO_ONCE=1 make demo" ;;
        packages) inside "scripts/try-packages.sh" ;;
        *) inside "make $command" ;;
    esac
    took=$((SECONDS - started))
    times+=("$(printf '%-10s %d:%02d' "$command" $((took / 60)) $((took % 60)))")
    if [[ $command == demo ]]; then
        started=$SECONDS
        inside "DEMO_ONCE=1 make demo" >/dev/null
        took=$((SECONDS - started))
        times+=("$(printf '%-10s %d:%02d' "demo again" $((took / 60)) $((took % 60)))")
    fi
done

say "on $suite with empty caches, $(nproc) cores:"
printf '  %s\n' "${times[@]}"
