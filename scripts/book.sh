#!/usr/bin/env bash
# Builds the book into target/book from docs/SUMMARY.md and the chapters listed there.
#
# mdBook wants SUMMARY.md at the top of the sources and copies everything next to it. So the chapters and pictures are
# copied into a folder with the layout of the repository, where the links between them work unchanged.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/check-links.sh
scripts/setup-tools.sh mdbook
tool=$(scripts/setup-tools.sh --bin-dir)/mdbook

sources=target/book-sources
rm -rf "$sources" target/book
mkdir -p "$sources/docs"
# Paths in docs/SUMMARY.md are relative to docs.
sed -E 's,\]\(\.\./,](,; t; s,\]\(,](docs/,' docs/SUMMARY.md >"$sources/SUMMARY.md"
cp docs/book.toml docs/book.css "$sources/"
cp -r docs/pictures "$sources/docs/pictures"
grep -oE '\]\([^)]+\.md\)' "$sources/SUMMARY.md" | sed 's/^](//; s/)$//' | while IFS= read -r chapter; do
    mkdir -p "$sources/$(dirname "$chapter")"
    cp "$chapter" "$sources/$chapter"
done
# The table of contents is a page in the repository, and the sidebar in the book.
sed -i 's,\[its table of contents\](docs/SUMMARY.md) also works here,its table of contents is on the left,' "$sources/README.md"

"$tool" build "$sources"
rm -f target/book/book.toml target/book/book.css

# Checks the links in mdBook's output. The error page is made for the top of a site.
dead=$(cd target/book && find . -name '*.html' ! -name 404.html | while IFS= read -r page; do
    { grep -oE '(href|src)="[^":#?]+["#]' "$page" || true; } | sed 's,^[^"]*",,; s,.$,,' | sort -u | while IFS= read -r target; do
        [[ -e $(dirname "$page")/$target ]] || echo "$page: $target"
    done
done)
if [[ -n $dead ]]; then
    printf 'book: dead link in %s\n' "$dead" >&2
    exit 1
fi
echo "book: target/book/index.html"
