#!/bin/sh
# What try.sh runs in the new Debian, as a service of its systemd.
# shellcheck disable=SC2086
set -eu
say() { printf '\n-- %s\n' "$*"; }
fail() { echo "FAILED: $*" >&2; exit 1; }
# All files, except the files of apt, dpkg and of this test.
files() {
    find / -xdev \( -path /proc -o -path /dev -o -path /run -o -path /tmp -o -path /root -o -path /old -o -path /new \
        -o -path /wheels -o -path /venv -o -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/cache -o -path /var/log \
        \) -prune -o -print | sort
}
use() { echo "deb [signed-by=/key.gpg] file:/$1 ./" > /etc/apt/sources.list.d/wellspring.list && apt-get update -qq; }
apt() { apt-get -qq -y "$@" > /tmp/apt.log 2>&1 || fail "apt-get $*: $(tail -n 40 /tmp/apt.log)"; }
is_up() {
    systemctl is-active --quiet "$@" || fail "$(systemctl --no-pager --full status "$@"; journalctl --no-pager --lines=40)"
}
# Waits until the client has more answers than now.
answered() {
    answers=$(cat /tmp/answers)
    while [ "$(cat /tmp/answers)" = "$answers" ]; do
        kill -0 "$client" || fail "the client ended"
        sleep 0.1
    done
}
packages="wellspring wellspringd libwellspring0 libwellspring-dev wellspring-preload libssl-provider-wellspring
    python3-wellspring"

say "apt install of the older version"
use old
apt install $packages
apt purge $packages
files > /tmp/before
apt install $packages
dpkg-query -W -f '${Package} ${Version}\n' $packages
id wellspring

say "a first key, from the command, from Python, and from a program that knows nothing of it"
wellspring bytes 32 --hex
python3 -c 'import wellspring; print(wellspring.token_bytes(16).hex())'
wellspring run --report -- python3 -c 'import os; os.urandom(32)' 2>&1 | tail -n 2

say "the service, which apt started, and a client that connects again when it is disconnected, and is never refused"
is_up wellspringd.service
is_up wellspringd.socket
wellspringd status | head -n 3
cat > /tmp/client.py <<'END'
import os, socket, time
answers = connections = 0
while not os.path.exists("/tmp/end"):
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(60)
    client.connect("/run/wellspring/egd.sock")
    connections += 1
    try:
        while not os.path.exists("/tmp/end"):
            client.sendall(b"\x02\x20")
            if len(client.recv(32, socket.MSG_WAITALL)) < 32:
                break
            answers += 1
            with open("/tmp/answers.new", "w") as file:
                print(answers, "answers,", connections, "connections", file=file)
            os.rename("/tmp/answers.new", "/tmp/answers")
            time.sleep(0.05)
    except ConnectionError:
        pass
END
echo none > /tmp/answers
python3 /tmp/client.py &
client=$!
answered

say "apt upgrade, with an edited conffile; first interrupted after the files were unpacked"
echo '# edited' >> /etc/wellspring/wellspring.toml
use new
socket=$(systemctl show --property=InvocationID wellspringd.socket)
dpkg --unpack /new/wellspringd_*.deb > /dev/null
dpkg --audit | head -n 4
answered
dpkg --configure -a > /dev/null
answered
apt upgrade
dpkg-query -W -f '${Package} ${Version}\n' $packages
grep -q '^# edited' /etc/wellspring/wellspring.toml || fail "the conffile lost its change"
answered
touch /tmp/end
wait $client || fail "the client was refused"
cat /tmp/answers
is_up wellspringd.service
is_up wellspringd.socket
# A client that comes while a socket is restarted is refused. That is a race, which the client above wins most of the time.
[ "$(systemctl show --property=InvocationID wellspringd.socket)" = "$socket" ] || fail "the socket was restarted"
wellspringd status | head -n 3
program=$(readlink "/proc/$(systemctl show --property=MainPID --value wellspringd)/exe")
[ "$program" = /usr/bin/wellspringd ] || fail "the service runs $program"

say "the units that are off until an administrator enables them"
systemctl enable --now wellspring-seed
is_up wellspring-seed
ls -l /var/lib/wellspring
# This one and the service exclude each other.
systemctl start wellspring-generation
is_up wellspring-generation
wellspring generation show
! systemctl is-active --quiet wellspringd.service || fail "two writers of the page"
systemctl stop wellspring-generation
systemctl start wellspringd
is_up wellspringd.service

say "the wheel, in an environment of its own"
python3 -m venv /venv
/venv/bin/pip install --quiet --no-index --no-cache-dir /wheels/*.whl
/venv/bin/python -c 'import wellspring; print(wellspring.__file__, wellspring.token_bytes(8).hex())'

say "apt purge; what is left"
apt purge $packages
files > /tmp/after
diff /tmp/before /tmp/after | grep '^[<>]' | grep -v __pycache__ > /tmp/left || true
cat /tmp/left
ls -d /run/wellspring 2> /dev/null || echo "/run/wellspring is gone"
[ "$(cat /tmp/left)" = "> /var/lib/wellspring
> /var/lib/wellspring/seed" ] || fail "more is left, or something is missing"
units=$(systemctl list-units --no-legend 'wellspring*')
[ -z "$units" ] || fail "units are left: $units"

if [ "${1:-}" = dkms ]; then
    say "dkms with the newest headers"
    apt install linux-headers-amd64 wellspring-dkms
    dkms status
    for module in wellspring wellspring_crypto; do
        find /usr/lib/modules -name "$module.ko*" | grep . || fail "no module: $(cat /tmp/apt.log)"
    done
    apt purge wellspring-dkms
    [ -z "$(find /usr/lib/modules /usr/src -name 'wellspring*')" ] || fail "dkms left something"
fi
echo "all of it worked"
