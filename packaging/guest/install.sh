#!/bin/sh
# install.sh install|uninstall PREFIX [DESTDIR]: what a guest image has besides `make install`: hooks, and the writer of
# the page, enabled.
set -eu
cd "$(dirname "$0")"
task=${1:-} prefix=${2:-} root=${3:-}
case $task$prefix in
install/* | uninstall/*) ;;
*)
    echo "usage: install.sh install|uninstall PREFIX [DESTDIR]" >&2
    exit 2
    ;;
esac

hooks=$root$prefix/lib/wellspring/hooks
# systemd looks for sleep hooks and enabled units here alone.
sleep=$root/usr/lib/systemd/system-sleep/wellspring
enabled=$root/etc/systemd/system/basic.target.wants/wellspring-generation.service
if [ "$task" = uninstall ]; then
    rm -f "$hooks/resumed" "$hooks/criu" "$sleep" "$enabled"
    rmdir "$hooks" 2> /dev/null || true
    exit
fi
put() {
    mkdir -p "${2%/*}"
    sed "s|@prefix@|$prefix|g" "$1" > "$2.new"
    chmod 755 "$2.new"
    mv "$2.new" "$2"
}
put resumed "$hooks/resumed"
put criu "$hooks/criu"
put sleep "$sleep"
mkdir -p "${enabled%/*}"
ln -sf "$prefix/lib/systemd/system/wellspring-generation.service" "$enabled"
