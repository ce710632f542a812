#!/usr/bin/env bash
# Checks that every link of the documentation leads somewhere: to a file of the repository, and to a heading if it names
# one. Links between chapters of the book must lead to other chapters, or they would be dead there. Addresses on the web
# are not asked for.
#
#   scripts/check-links.sh [FILE…]    all Markdown files of the repository, or these
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ $# -eq 0 ]]; then
    mapfile -t files < <(
        if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
            git ls-files --cached --others --exclude-standard -- '*.md'
        else
            find . \( -name target -o -name node_modules \) -prune -o -name '*.md' -print | sed 's,^\./,,'
        fi | sort -u
    )
    set -- "${files[@]}"
fi

# Text of a Markdown file without code: neither blocks nor spans hold links or headings.
prose() {
    awk '/^ *(```|~~~)/ { in_code = !in_code; next } !in_code { gsub(/`[^`]*`/, ""); print FILENAME ":" FNR ":" $0 }' "$1"
}

# The anchors of a file, one a line, as repository pages and mdBook make them: lower case, letters, digits, `-` and `_`;
# a repeated one gets a number.
anchors() {
    awk '/^ *(```|~~~)/ { in_code = !in_code; next } !in_code && sub(/^#+ +/, "")' "$1" |
        sed -E 's/\[([^]]*)\]\([^)]*\)/\1/g; s/ +$//' | tr '[:upper:]' '[:lower:]' |
        sed -E "s/[][!\"#\$%&'()*+,.\/:;<=>?@\\\\^\`{|}~…·–—“”]//g; s/ /-/g" |
        awk '{ print seen[$0] ? $0 "-" seen[$0] : $0; seen[$0]++ }'
}

# A path without `x/..` and `.` in it. The file need not exist.
normal() {
    local part
    local -a parts=() kept=()
    IFS=/ read -ra parts <<<"$1"
    for part in "${parts[@]}"; do
        case "$part" in
            '' | .) ;;
            ..) if [[ ${#kept[@]} -gt 0 ]]; then unset 'kept[-1]'; else kept+=(OUTSIDE); fi ;;
            *) kept+=("$part") ;;
        esac
    done
    (IFS=/; echo "${kept[*]}")
}

declare -A is_chapter=()
while IFS= read -r chapter; do
    is_chapter[$(normal "docs/$chapter")]=1
done < <(grep -oE '\]\([^)]+\.md\)' docs/SUMMARY.md | sed 's/^](//; s/)$//')

failed=0
links=0
report() {
    failed=1
    echo "check-links: $1" >&2
}

for chapter in docs/*.md; do
    if [[ $chapter != docs/SUMMARY.md && -z ${is_chapter[$chapter]:-} ]]; then
        report "$chapter is not in docs/SUMMARY.md"
    fi
done

for file in "$@"; do
    [[ -f $file ]] || continue
    while IFS= read -r hit; do
        links=$((links + 1))
        place=${hit%%"]("*}
        target=${hit#*"]("}
        target=${target%)}
        target=${target%% \"*}
        path=${target%%#*}
        if [[ -n $path ]]; then path=$(normal "$(dirname "$file")/$path"); else path=$file; fi
        if [[ ! -e $path ]]; then
            report "$place: $target: no such file"
        elif [[ -n ${is_chapter[$file]:-} && $path == *.md && $path != docs/SUMMARY.md && -z ${is_chapter[$path]:-} ]]; then
            report "$place: $target is not a chapter of the book (docs/SUMMARY.md)"
        elif [[ -n ${is_chapter[$file]:-} && $path != *.md && $path != docs/pictures/* ]]; then
            report "$place: $target is not a part of the book: name it without a link"
        elif [[ $target == *#* ]] && ! anchors "$path" | grep -qxF -- "${target#*#}"; then
            report "$place: $target: no such heading in $path"
        fi
    done < <(prose "$file" | grep -oE '^[^:]+:[0-9]+:|\]\([^)]+\)' |
        awk '/^[^]]/ { place = substr($0, 1, length($0) - 1); next } { print place $0 }' |
        grep -vE '\]\((https?:|mailto:)' || true)
done

if ((failed)); then exit 1; fi
echo "check-links: $links links in $# files, none dead"
