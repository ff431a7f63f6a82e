#!/bin/sh
# version.sh NEW: writes the version of the next release wherever the present version is. Not into the changelogs, which a
# person writes.
set -eu
new=${1:?"name the new version"}
cd "$(dirname "$0")/../.."
old=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
# docs/explanation/entropy.md names a version of another project.
git grep -lF "$old" -- ':!*.lock' ':!CHANGELOG.md' ':!docs/measurements' ':!docs/explanation/entropy.md' \
    ':!packaging/debian/changelog' | xargs sed -i "s/$(echo "$old" | sed 's/\./\\./g')/$new/g"
for lock in $(git ls-files '*Cargo.lock'); do cargo update --quiet --workspace --manifest-path "${lock%lock}toml"; done
git diff --stat
