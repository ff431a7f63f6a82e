#!/usr/bin/env bash
# compare.sh [PART]..: builds the parts twice, in folders of different names and depths, under another user's umask, home and
# time zone, and says which artefacts differ. `cargo xtask dist compare` calls it.
set -euo pipefail
cd "$(dirname "$0")/../.."
first=target/dist second=target/again/in/another/folder
rm -rf target/again "$first/out"
packaging/dist/build.sh "$first" "$first/out" "$@"
(umask 077 && TZ=Asia/Tokyo LANG=de_DE.UTF-8 packaging/dist/build.sh "$second" "$second/out" "$@")
if diff "$first/out/SHA256SUMS" "$second/out/SHA256SUMS"; then
    echo "two builds in two folders gave the same $(wc -l < "$first/out/SHA256SUMS") files"
    exit
fi
if command -v diffoscope > /dev/null; then
    diffoscope --max-report-size 20000 "$first/out" "$second/out" || true
else
    echo "diffoscope says why files differ; Debian's package is diffoscope-minimal"
fi
exit 1
