#!/usr/bin/env bash
# try-archive.sh OUT: the static archive in a root that has busybox and no C library: install, a key, the service, its status,
# self-tests, uninstall, and what is left. A damaged archive is refused. `cargo xtask dist try OUT archive` calls it, as root.
set -euo pipefail
out=$(cd "$1" && pwd)
if [ -z "${in_namespace:-}" ]; then
    in_namespace=1 exec unshare --mount --pid --fork --kill-child "$0" "$@"
fi
root=$(mktemp -d)
trap 'umount --lazy --recursive "$root"/{proc,dev}; rm -rf --one-file-system "$root"' EXIT
mkdir "$root"/{proc,dev,etc,tmp,usr,run}
# apt as root: its own user cannot write there.
(cd "$root/tmp" && apt-get -o APT::Sandbox::User=root download -qq busybox-static &&
    dpkg -x busybox-static_*.deb "$root" && rm busybox-static_*.deb)
tar -x --directory "$root" -f "$out"/wellspring-*-x86_64-linux.tar.gz
cp "$root"/wellspring-*/packaging/images/passwd "$root/etc"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --make-rslave "$root/dev"
env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$root" /bin/busybox sh -eu << 'END'
/bin/busybox --install -s /bin
mkdir -p /usr/bin
files() { find / \( -path /proc -o -path /dev -o -path /tmp -o -path /run \) -prune -o -print | sort; }
files > /tmp/before
cd /wellspring-*
echo damaged >> SECURITY.md
if ./install.sh install /usr 2> /dev/null; then exit 1; fi
sed -i '$d' SECURITY.md
./install.sh install /usr
wellspring bytes 32 --hex
wellspringd 2> /tmp/service.log &
until [ -S /run/wellspring/egd.sock ]; do kill -0 $! || { cat /tmp/service.log; exit 1; }; sleep 0.1; done
wellspringd status | head -n 1
kill $!
wait $! || true
wellspring check | tail -n 1
./install.sh uninstall /usr
files > /tmp/after
diff /tmp/before /tmp/after
echo "all of it worked"
END
