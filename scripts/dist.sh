#!/usr/bin/env bash
# Builds the release packages into target/dist: a tarball with a static program, a Debian package, npm packages, and
# checksums of all of them. On request it also packages the crates, with the page inside, and compiles each as `cargo
# install` would.
#
#   scripts/dist.sh            tarball, deb and npm
#   scripts/dist.sh tarball    only the tarball; also: deb, npm (both need the tarball's program), crates
#
# DIST_TARGET=x86_64-unknown-linux-gnu builds for another Rust target, where musl's cannot be installed. The program then
# needs the C library of this system or a newer one, and the name of the tarball says so.
set -euo pipefail
cd "$(dirname "$0")/.."

say() { echo "dist: $*"; }

wanted=${1:-all}
case "$wanted" in
    all | tarball | deb | npm | crates) ;;
    *)
        echo "dist: unknown package '$wanted'; known: tarball, deb, npm, crates" >&2
        exit 2
        ;;
esac

architecture=$(uname -m)
target=${DIST_TARGET:-$architecture-unknown-linux-musl}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
build=${CARGO_TARGET_DIR:-target}
out=target/dist
stage=$out/stage
name=weir-$version-$architecture-linux
if [[ $target != *-musl ]]; then name+=-${target##*-}; fi

# The same commit produces the same files: timestamps are those of the commit.
commit=$(git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH
if [[ -n "$(git status --porcelain 2>/dev/null)" ]]; then commit=$commit-dirty; fi

build_program() {
    if ! rustup target list --installed 2>/dev/null | grep -qx "$target"; then
        say "adding the Rust target $target"
        rustup target add "$target" || {
            echo "dist: no Rust target $target: DIST_TARGET=$architecture-unknown-linux-gnu builds a program that is not static" >&2
            exit 1
        }
    fi
    if [[ $target == *-musl ]]; then scripts/setup-debian.sh musl-gcc; fi
    scripts/setup-node.sh
    scripts/setup-web.sh --build
    say "building the program for $target (some minutes)"
    WEIR_COMMIT=$commit cargo build --release --locked --target "$target" -p weir-cli --bin weir
}

stage_files() {
    local program=$build/$target/release/weir
    say "manual pages and completions"
    rm -rf "$stage"
    mkdir -p "$stage/man" "$stage/completions"
    install -m 755 "$program" "$stage/weir"
    "$program" man "$stage/man"
    "$program" completions bash >"$stage/completions/weir.bash"
    "$program" completions zsh >"$stage/completions/_weir"
    "$program" completions fish >"$stage/completions/weir.fish"
    install -m 644 README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE packaging/weir.service "$stage/"
}

make_tarball() {
    say "$name.tar.gz"
    tar --create --gzip --file "$out/$name.tar.gz" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 \
        --numeric-owner --transform "s,^\.,$name," --directory "$stage" .
}

make_deb() {
    scripts/setup-tools.sh cargo-deb
    local tool
    tool=$(scripts/setup-tools.sh --bin-dir)/cargo-deb
    say "Debian package"
    "$tool" -p weir-cli --no-build --no-strip --target "$target" --output "$out/"
}

# Two packages: the program for this system, and the one that people install, which selects among them.
make_npm() {
    local cpu of_system=$out/npm/system wrapper=$out/npm/weir
    case "$architecture" in
        x86_64) cpu=x64 ;;
        aarch64) cpu=arm64 ;;
        *)
            say "npm has no name for $architecture; skipped"
            return
            ;;
    esac
    say "npm packages"
    rm -rf "$out/npm"
    mkdir -p "$of_system/bin"
    install -m 755 "$stage/weir" "$of_system/bin/weir"
    cat >"$of_system/package.json" <<JSON
{
  "name": "weir-linux-$cpu",
  "version": "$version",
  "description": "The weir program for Linux on $cpu",
  "license": "MIT OR Apache-2.0",
  "os": ["linux"],
  "cpu": ["$cpu"],
  "files": ["bin/"]
}
JSON
    cp -r packaging/npm "$wrapper"
    install -m 644 README.md "$wrapper/README.md"
    node - "$wrapper/package.json" "$version" <<'JS'
const { readFileSync, writeFileSync } = require("node:fs");
const [file, version] = process.argv.slice(2);
const wrapper = JSON.parse(readFileSync(file, "utf8"));
wrapper.version = version;
for (const cpu of ["x64", "arm64"]) wrapper.optionalDependencies[`weir-linux-${cpu}`] = version;
writeFileSync(file, JSON.stringify(wrapper, null, 2) + "\n");
JS
    for package in "$of_system" "$wrapper"; do
        npm pack --silent --pack-destination "$out" "$package" >/dev/null
    done
}

# The test tools are not published.
package_crates() {
    say "crates (each is compiled as it would be published)"
    scripts/setup-node.sh
    scripts/setup-web.sh --build
    cargo package --workspace --exclude weir-bench --exclude weir-soak --locked --allow-dirty
    tar -tzf "$build/package/weir-server-$version.crate" | grep -q /page/dist/index.html || {
        echo "dist: the crate weir-server has no page in it" >&2
        exit 1
    }
}

if [[ $wanted == crates ]]; then
    package_crates
    exit
fi
if [[ $wanted == all || $wanted == tarball ]]; then
    build_program
    stage_files
    make_tarball
elif [[ ! -x $stage/weir ]]; then
    echo "dist: no program in $stage: run scripts/dist.sh tarball first" >&2
    exit 1
fi
if [[ $wanted == all || $wanted == deb ]]; then make_deb; fi
if [[ $wanted == all || $wanted == npm ]]; then make_npm; fi

(cd "$out" && find . -maxdepth 1 -type f ! -name SHA256SUMS -printf '%P\n' | sort | xargs sha256sum >SHA256SUMS)
say "done:"
(cd "$out" && ls -l --time-style=+ | awk 'NR > 1 && $1 ~ /^-/ { printf "  %9d  %s\n", $5, $6 }')
