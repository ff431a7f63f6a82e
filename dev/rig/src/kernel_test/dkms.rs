//! `dkms install`, `dkms remove` and the guards of dkms.conf, in a small Debian 12 with dkms and the newest headers of its
//! two kernels, which come with the security updates.

use crate::guest::{Cache, Chroot, Result, Stop, failed, run};
use std::path::Path;

/// Run at each time, so that the headers are the newest.
const INSTALL: &str = "set -e
export DEBIAN_FRONTEND=noninteractive
echo 'deb http://deb.debian.org/debian-security bookworm-security main' >/etc/apt/sources.list.d/security.list
apt-get update --quiet
apt-get install --yes --quiet --no-install-recommends dkms gcc-12 linux-headers-cloud-amd64 linux-headers-6.12-cloud-amd64";

/// Prints a line for each thing that is tested. The module is in /module. A kernel is where dkms looks for its
/// configuration: /lib/modules/NAME/build/.config.
const STEPS: &str = r#"
set -e
version=$(sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' /module/dkms.conf)
name=wellspring/$version
kernel=$(ls /lib/modules | grep cloud | tail -n 1)
left_over() { find /boot /etc /lib/modules /var/lib /var/tmp /tmp -name '*wellspring*'; }
rm -rf /var/lib/dkms/wellspring /usr/src/wellspring-*
cp -r /module /usr/src/wellspring-$version
kernel_like() {
    mkdir -p /lib/modules/$1/build
    grep -v "$2" /lib/modules/$kernel/build/.config >/lib/modules/$1/build/.config
}
kernel_like 5.10.0-1-amd64 'no such line'
kernel_like 6.0.12-1-amd64 'no such line'
kernel_like 6.1.0-1-up-amd64 '^CONFIG_SMP='
dkms add $name >/dev/null
refused() {
    status=0
    dkms build $name "$@" >/tmp/output 2>&1 || status=$?
    [ $status = 77 ] && grep -q BUILD_EXCLUSIVE /tmp/output || { echo "not refused: $*: $status"; cat /tmp/output; exit 1; }
    echo "refused: $*"
}
refused -k 5.10.0-1-amd64
refused -k 6.0.12-1-amd64
refused -k 6.1.0-1-up-amd64
refused -k $kernel -a riscv64
rm -rf /lib/modules/*-1-amd64 /lib/modules/*-up-amd64
for kernel in $(ls /lib/modules | grep cloud); do
    dkms install $name -k $kernel >/tmp/output 2>&1 ||
        { cat /tmp/output /var/lib/dkms/wellspring/$version/build/make.log; exit 1; }
    dkms status $name -k $kernel | grep -q ': installed' || { dkms status; exit 1; }
    file=$(find /lib/modules/$kernel/updates -name 'wellspring.ko*')
    modinfo -F version $file | grep -qx $version
    ! modinfo -F alias $file | grep -q wellspring
    ! modinfo -F parm $file | grep -q 'for tests'
    [ -z "$(find /lib/modules -name 'wellspring_test*')" ]
    echo "installed for $kernel, without tests"
done
dkms remove $name --all >/tmp/output 2>&1 || { cat /tmp/output; exit 1; }
left=$(left_over)
[ -z "$left" ] || { echo "left over: $left"; exit 1; }
echo "removed"
"#;

/// All of it. Returns the note for the table.
pub(super) fn test(cache: &Cache, source: &Path) -> Result<String> {
    let chroot = Chroot::fetch_and_run(cache, "system-dkms", "bookworm", INSTALL)?;
    if let Err(Stop::Failed(reason)) = run(chroot.command("sh").args(["-c", INSTALL])) {
        println!("the headers are those that are here: {reason}");
    }
    let chroot = chroot.share(source, "/module");
    let says = run(chroot.command("sh").args(["-c", STEPS]))?;
    match says.lines().last() {
        Some("removed") => Ok(says.lines().collect::<Vec<_>>().join("; ")),
        _ => failed(says),
    }
}
