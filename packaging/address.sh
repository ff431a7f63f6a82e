#!/bin/sh
# address.sh MAIL URL: puts the project's address into every file that names it, once, before the first release. URL is the
# repository, https://HOST/PATH. RELEASING.md says what is left to write by hand.
set -eu
mail=${1:-} url=${2:-}
case $mail@$url in
*[\|\&\\\ ]*) mail= ;;
?*@?*.?*@https://?*/?*) ;;
*) mail= ;;
esac
if [ -z "$mail" ]; then
    echo "usage: address.sh MAIL URL, such as address.sh team@example.com https://example.com/wellspring" >&2
    exit 2
fi
cd "$(dirname "$0")/.."
grep -q wellspring@example.org packaging/debian/control || { echo "the address is there already" >&2; exit 1; }

sed -i "s|wellspring@example.org|$mail|" packaging/debian/control packaging/debian/changelog
sed -i "s|^Rules-Requires-Root: no|&\nHomepage: $url|" packaging/debian/control
sed -i "s|^License: .*|&\nURL: $url|" packaging/rpm/wellspring.spec
sed -i "s|^  <description>.*|&\n  <url>$url</url>|" bindings/java/pom.xml
sed -i "s|^\[build-system\]|[project.urls]\nRepository = \"$url\"\n\n&|" bindings/python/pyproject.toml
sed -i "/--suppress-tags/s/bogus-mail-host,bogus-mail-host-in-debian-changelog,//" packaging/dist/build.sh
# Cargo: one line for the workspace, and one for each package that is published.
sed -i -e '/^# No `repository`/,/^categories/{/^#/d}' -e "s|^categories = |repository = \"$url\"\n&|" Cargo.toml
sed -i 's|^documentation = "https://docs.rs/.*|&\nrepository.workspace = true|' \
    */*/Cargo.toml
# Three packages show this README.md, which is not in their folders: crates.io would complete its links wrongly.
sed -i -E "s|\]\(([A-Za-z][^):]*)\)|](${url}/blob/HEAD/\1)|g" README.md
git diff --stat
