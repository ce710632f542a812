#!/usr/bin/env bash
# Checks the files that are in the repository or about to be: no traces of the machine they were written on, no loose
# ends in the Rust sources, no overlong Rust file, no mention of a test that does not exist, no dead link.
#
# The patterns below spell one letter of each word as [x], so that this file does not match itself.
set -euo pipefail
cd "$(dirname "$0")/.."

max_lines=700
# An absolute path that starts in such a folder, also inside JSON text; "a/root/b" does not count.
machine_path='(^|[^[:alnum:]_.~})-]|\\[nrt])/([r]oot|[w]ork)([/"\\]|$)'
shared_folder='\.\./[s]hared'
registry_host='([i]ndex|[s]tatic)\.crates\.io|registry\.[n]pmjs\.|[p]ypi\.org|[p]ythonhosted\.org|[d]eb\.debian\.org'
loose_end='(^|[^[:alnum:]_])(TODO|FIXME)([^[:alnum:]_]|$)|(todo|unimplemented)!\(|#!?\[ignore|#!?\[allow\('

lists=$(mktemp -d)
trap 'rm -rf "$lists"' EXIT

# Tracked files and new files that are not ignored; without git (an unpacked archive) everything except build output.
list_files() {
    if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git ls-files -z --cached --others --exclude-standard
    else
        find . -type d \( -name .git -o -name target -o -name node_modules -o -path ./fuzz/artifacts \) -prune \
            -o -type f -print0
    fi
}

: >"$lists/all"
: >"$lists/rust"
: >"$lists/locks"
count=0
while IFS= read -r -d '' file; do
    [[ -f "$file" ]] || continue # deleted, or a nested repository
    count=$((count + 1))
    printf '%s\0' "$file" >>"$lists/all"
    case "$file" in
        *.rs) printf '%s\0' "$file" >>"$lists/rust" ;;
        Cargo.lock | */Cargo.lock) printf '%s\0' "$file" >>"$lists/locks" ;;
    esac
done < <(list_files)

failed=0
report() {
    failed=1
    echo "check-tree: $1" >&2
    cut -c1-200 | sed 's/^/    /' >&2
}

# scan <list> <extended regular expression> <what is wrong>
scan() {
    local hits
    hits=$(xargs -0 grep -nHIE -e "$2" -- /dev/null <"$lists/$1" || true)
    if [[ -n "$hits" ]]; then report "$3" <<<"$hits"; fi
}

scan all "$machine_path" "path of one particular machine"
scan all "$shared_folder" "path that leads out of the repository"
scan all "$registry_host" "host name of a package registry"
scan rust "$loose_end" "loose end (finish it; use #[expect(…, reason = …)] where a lint is wrong)"

foreign=$(xargs -0 grep -nHE -e '^source = ' -- /dev/null <"$lists/locks" |
    grep -vF 'registry+https://github.com/rust-lang/crates.io-index' || true)
if [[ -n "$foreign" ]]; then report "dependency that is not from crates.io" <<<"$foreign"; fi

long=$(while IFS= read -r -d '' file; do
    lines=$(wc -l <"$file")
    if ((lines > max_lines)); then echo "$file: $((lines)) lines"; fi
done <"$lists/rust")
if [[ -n "$long" ]]; then report "Rust file of more than $max_lines lines (split it)" <<<"$long"; fi

# Tests of the page have sentences in quotes for names.
xargs -0 grep -hoE 'fn [a-z0-9_]+' -- /dev/null <"$lists/rust" | sed 's/^fn //' | sort -u >"$lists/functions"
# check_tests <document>: the last column of its tables lists tests, by their full path or by their name.
check_tests() {
    local named unknown
    named=$(awk -F '|' '/^\|/ { print $(NF - 1) }' "$1" | grep -oE '`([a-z0-9_]+::)*[a-z0-9]+(_[a-z0-9]+)+`' |
        tr -d '`' | sed 's/.*:://' | sort -u)
    unknown=$(comm -23 <(printf '%s\n' "$named") "$lists/functions")
    if [[ -n "$unknown" ]]; then report "$1 names tests that do not exist" <<<"$unknown"; fi
}
check_tests docs/lessons.md
check_tests docs/seeds.md
# What the text calls proven: names of four words or more.
proof=docs/security.md
named=$(grep -oE '`([a-z0-9_]+::)*[a-z0-9]+(_[a-z0-9]+){3,}`' "$proof" | tr -d '`' | sed 's/.*:://' | sort -u)
unknown=$(comm -23 <(printf '%s\n' "$named") "$lists/functions")
if [[ -n "$unknown" ]]; then report "$proof names tests that do not exist" <<<"$unknown"; fi

if ! scripts/check-links.sh; then failed=1; fi

if ((failed)); then exit 1; fi
echo "check-tree: $count files, nothing to report"
