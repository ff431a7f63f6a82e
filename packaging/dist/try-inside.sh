#!/bin/sh
# What try.sh runs in the new Debian.
set -eu
say() { printf '\n-- %s\n' "$*"; }
fail() { echo "FAILED: $*" >&2; exit 1; }
# All files but those of apt, dpkg and of this test.
files() {
    find / -xdev \( -path /proc -o -path /dev -o -path /run -o -path /tmp -o -path /root -o -path /old -o -path /new \
        -o -path /wheels -o -path /venv -o -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/cache -o -path /var/log \
        \) -prune -o -print | sort
}
use() { echo "deb [signed-by=/key.gpg] file:/$1 ./" > /etc/apt/sources.list.d/wellspring.list && apt-get update -qq; }
packages="wellspring wellspringd libwellspring0 libwellspring-dev wellspring-preload libssl-provider-wellspring
    python3-wellspring"
# The command of the unit, with the folder that systemd would make.
serve() {
    install -d -o wellspring -m 700 /var/lib/wellspringd
    STATE_DIRECTORY=/var/lib/wellspringd /usr/bin/wellspringd 2>> /tmp/service.log &
    for _ in $(seq 100); do [ ! -S /run/wellspring/egd.sock ] || return 0; sleep 0.1; done
    fail "the service does not start: $(cat /tmp/service.log)"
}

say "apt install of the older version"
use old
# shellcheck disable=SC2086
apt-get install -qq -y systemd $packages > /tmp/apt.log 2>&1 || fail "$(cat /tmp/apt.log)"
apt-get purge -qq -y $packages > /dev/null 2>&1
files > /tmp/before
apt-get install -qq -y $packages > /tmp/apt.log 2>&1 || fail "$(cat /tmp/apt.log)"
dpkg-query -W -f '${Package} ${Version}\n' $packages
id wellspring

say "a first key, from the command, from Python, and from a program that knows nothing of it"
wellspring bytes 32 --hex
python3 -c 'import wellspring; print(wellspring.token_bytes(16).hex())'
wellspring run --report -- python3 -c 'import os; os.urandom(32)' 2>&1 | tail -n 2

say "the service, and a client that stays connected"
serve
cat > /tmp/client.py <<'END'
import os, socket, time
client = socket.socket(socket.AF_UNIX)
client.settimeout(20)
client.connect("/run/wellspring/egd.sock")
answers = 0
while not os.path.exists("/tmp/end"):
    client.sendall(b"\x02\x20")
    data = client.recv(32, socket.MSG_WAITALL)
    assert len(data) == 32, "the service ended the connection"
    answers += 1
    open("/tmp/answers", "w").write(str(answers))
    time.sleep(0.05)
print(answers, "answers on one connection")
END
python3 /tmp/client.py &
client=$!
while [ ! -s /tmp/answers ]; do kill -0 $client && sleep 0.1; done

say "apt upgrade, with an edited conffile; first interrupted after the files were unpacked"
echo '# edited' >> /etc/wellspring/wellspring.toml
use new
dpkg --unpack /new/wellspringd_*.deb > /dev/null
dpkg --audit | head -n 4
kill -0 $client || fail "the client lost its connection"
dpkg --configure -a > /dev/null
apt-get upgrade -qq -y > /tmp/apt.log 2>&1 || fail "$(cat /tmp/apt.log)"
dpkg-query -W -f '${Package} ${Version}\n' $packages
grep -q '^# edited' /etc/wellspring/wellspring.toml || fail "the conffile lost its change"
touch /tmp/end
wait $client || fail "the client lost its connection"
wellspringd status | head -n 3
ls -l /proc/"$(pgrep -o wellspringd)"/exe | sed 's/.*-> //'
kill -TERM "$(pgrep -o wellspringd)"
while pgrep wellspringd > /dev/null; do sleep 0.1; done
serve
wellspringd status | head -n 1
kill -TERM "$(pgrep -o wellspringd)"
while pgrep wellspringd > /dev/null; do sleep 0.1; done

say "the wheel, in an environment of its own"
python3 -m venv /venv
/venv/bin/pip install --quiet --no-index --no-cache-dir /wheels/*.whl
/venv/bin/python -c 'import wellspring; print(wellspring.__file__, wellspring.token_bytes(8).hex())'

say "apt purge; what is left"
wellspring seed save /var/lib/wellspring/seed 2> /dev/null || { mkdir -m 700 -p /var/lib/wellspring &&
    wellspring seed save /var/lib/wellspring/seed; }
# shellcheck disable=SC2086
apt-get purge -qq -y $packages > /tmp/apt.log 2>&1 || fail "$(cat /tmp/apt.log)"
files > /tmp/after
diff /tmp/before /tmp/after | grep '^>' | grep -v __pycache__ || true
ls -d /run/wellspring 2> /dev/null || echo "/run/wellspring is gone"
[ "$(diff /tmp/before /tmp/after | grep '^>' | grep -v __pycache__ | sort)" = "> /var/lib/wellspring
> /var/lib/wellspring/seed" ] || fail "more is left"

if [ "$1" = dkms ]; then
    say "dkms with the newest headers"
    apt-get install -qq -y linux-headers-amd64 wellspring-dkms > /tmp/apt.log 2>&1 || fail "$(tail -n 40 /tmp/apt.log)"
    dkms status
    for module in wellspring wellspring_crypto; do
        find /usr/lib/modules -name "$module.ko*" | grep . || fail "no module: $(cat /tmp/apt.log)"
    done
    apt-get purge -qq -y wellspring-dkms > /dev/null 2>&1
    [ -z "$(find /usr/lib/modules /usr/src -name 'wellspring*')" ] || fail "dkms left something"
fi
echo "all of it worked"
