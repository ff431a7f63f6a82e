#!/bin/sh
# build-native.sh FOLDER JAVA: builds the native library for the processors that there is a compiler for, and lays each into the
# folder of the package's classes, with its hash. Maven, which runs on the version JAVA, calls it.
set -eu
[ "${2%%.*}" -ge 22 ] ||
    echo "REDUCED: Java $2 makes a jar that reads by JNI on every Java. The whole jar needs JDK 22: JAVA_HOME=FOLDER mvn .."
classes=$1/wellspring/jca
cd "$(dirname "$0")/../.."
target=$PWD/target
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
# Debian's compilers for other processors come without a C library, if its package is only recommended and so left out.
links() { echo 'int main(void) { return 0; }' | "$1" -x c -o /dev/null - 2> /dev/null; }
for machine in x86_64 aarch64; do
    triple=$machine-unknown-linux-gnu
    if ! { [ -d "$(rustc --print target-libdir --target "$triple")" ] &&
        { [ "$machine" = "$(uname -m)" ] || links "$machine-linux-gnu-gcc"; }; }; then
        echo "SKIPPED: no library for $machine: it needs $machine-linux-gnu-gcc with its C library, and rustup target add $triple"
        continue
    fi
    cargo build --release --locked -p wellspring-java --target "$triple" --target-dir "$target"
    mkdir -p "$classes/linux-$machine"
    library=$classes/linux-$machine/libwellspring_java.so
    cp "$target/$triple/release/libwellspring_java.so" "$library"
    sha256sum < "$library" | cut -c1-64 > "$library.sha256"
done
