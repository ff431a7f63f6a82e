#!/usr/bin/env bash
# try.sh OUT SUITE [dkms]: what a person does with the packages of OUT, in a new Debian of a suite (bookworm, sid) that
# systemd-nspawn boots: install, a key, the services, an upgrade from an older version with the service running and a client
# connected, an interrupted upgrade, the wheel, purge, and what is left. With "dkms" the module for the suite's newest headers.
# `cargo xtask dist try` calls it, as root. With "archive" for the suite: try-archive.sh.
set -euo pipefail
out=$(cd "$1" && pwd) suite=$2 has_dkms=${3:-}
here=$(cd "$(dirname "$0")" && pwd)
[ "$suite" != archive ] || exec "$here/try-archive.sh" "$out"
root=$(mktemp -d)
trap 'rm -rf --one-file-system "$root"' EXIT

keyring=/usr/share/keyrings/debian-archive-keyring.gpg
with=ca-certificates,python3,python3-venv,procps,systemd,systemd-sysv
mmdebstrap --quiet --variant=minbase --include="$with" --aptopt='Acquire::Check-Valid-Until "false"' \
    --aptopt='Acquire::Check-Date "false"' --aptopt='APT::Install-Recommends "false"' "$suite" "$root" \
    "deb [signed-by=$keyring] http://deb.debian.org/debian $suite main"

# The repository, signed with a key that is made here, and an older one: the same packages with a smaller version.
mkdir "$root/new" "$root/old" "$root/wheels"
cp "$out"/debian/* "$root/new"
cp "$out"/*manylinux*x86_64.whl "$root/wheels"
for package in "$root"/new/*.deb; do
    dpkg-deb -R "$package" "$root/unpacked"
    version=$(dpkg-deb -f "$package" Version)
    sed -i "s/$version/0.0.9-1/" "$root/unpacked/DEBIAN/control"
    dpkg-deb -Znone --build "$root/unpacked" "$root/old" > /dev/null
    rm -r "$root/unpacked"
done
export GNUPGHOME=$root/root/.gnupg
mkdir -m 700 "$GNUPGHOME"
gpg --batch --quiet --passphrase '' --quick-generate-key 'for a test' 2> /dev/null
gpg --export > "$root/key.gpg"
for repository in old new; do
    (cd "$root/$repository" && apt-ftparchive packages . > Packages && apt-ftparchive release . > ../Release &&
        mv ../Release . && gpg --batch --yes --clearsign --output InRelease Release)
done
gpgconf --kill all
rm -r "$GNUPGHOME"

cp "$here/try-inside.sh" "$root/try-inside.sh"
# Nothing but this test uses apt and the console.
for unit in apt-daily.timer apt-daily-upgrade.timer console-getty.service; do
    ln -s /dev/null "$root/etc/systemd/system/$unit"
done
cat > "$root/etc/systemd/system/try.service" << END
[Unit]
SuccessAction=exit
FailureAction=exit
[Service]
Type=oneshot
Environment=HOME=/root DEBIAN_FRONTEND=noninteractive
ExecStart=/bin/sh /try-inside.sh $has_dkms
StandardOutput=tty
StandardError=tty
END
# The version of systemd in sid needs cgroups of version 2. The container ends with the status of try.service.
SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 systemd-nspawn --quiet --register=no --keep-unit --console=read-only --directory="$root" \
    --boot systemd.show_status=no systemd.wants=try.service | tr -d '\r'
