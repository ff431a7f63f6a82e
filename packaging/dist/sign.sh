#!/bin/sh
# sign.sh FOLDER SSH_KEY [GPG_KEY]: signs what build.sh made. SSH_KEY is a file for ssh-keygen(1), which may be the public half of
# a key in an agent or on a token; GPG_KEY is a key of gpg(1) for the apt repository. `cargo xtask dist sign` calls it.
set -eu
folder=${1:?} ssh_key=${2:?"name the file of an SSH key"} gpg_key=${3:-}
cd "$folder"
sha256sum --quiet --check SHA256SUMS
rm -f SHA256SUMS.sig debian/InRelease
ssh-keygen -q -Y sign -f "$ssh_key" -n wellspring SHA256SUMS
if [ -n "$gpg_key" ] && [ -d debian ]; then
    gpg --batch --local-user "$gpg_key" --output debian/InRelease --clearsign debian/Release
fi
