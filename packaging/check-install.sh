#!/bin/sh
# Installs into a temporary folder, runs what is there, has systemd check the units, and uninstalls.
set -eu
cd "$(dirname "$0")/.."
root=$(mktemp -d)
units=$(mktemp -d)
trap 'rm -rf "$root" "$units"' EXIT
fail() { echo "check-install: $*" >&2; exit 1; }

# The files below the folder, one a line.
left() { (cd "$root" && find . ! -type d | sort); }

# A file of another package is neither replaced nor removed, and a refused installation leaves nothing.
mkdir -p "$root/usr/bin" "$root/usr/share/wellspring"
echo foreign > "$root/usr/share/wellspring/wellspring.toml"
packaging/install.sh install /usr "$root" 2> /dev/null && fail "it replaced a file of another package"
[ "$(left)" = ./usr/share/wellspring/wellspring.toml ] || fail "a refused installation left: $(left)"
rm "$root/usr/share/wellspring/wellspring.toml"
# An installation that fails in the middle leaves nothing: the folder of a man page is a file.
mkdir -p "$root/usr/share/man" && echo foreign > "$root/usr/share/man/man8"
packaging/install.sh install /usr "$root" 2> /dev/null && fail "it installed below a file"
[ "$(left)" = ./usr/share/man/man8 ] || fail "a failed installation left: $(left)"
rm -r "$root/usr/share"

echo foreign > "$root/usr/bin/other"
packaging/install.sh install /usr "$root"
# Again, over the first one.
packaging/install.sh install /usr "$root" > /dev/null
# The lists of Debian's packages name files that exist, and each file that was installed.
sed -e '/^#/d' -e 's/ .*//' -e 's|${DEB_HOST_MULTIARCH}/||' packaging/debian/*.install packaging/debian/not-installed |
    while read -r pattern; do
        case $pattern in
            usr/*) from=$root/ ;;
            *) from= ;;
        esac
        # shellcheck disable=SC2086
        find $from$pattern ! -type d 2> /dev/null || [ "${pattern##*.}" = jar ] || fail "packaging/debian names $pattern"
    done > "$units/listed"
left | grep -v other | sed "s|^\.|$root|" | grep -vxFf "$units/listed" && fail "packaging/debian does not name these"
rm "$units/listed"
bin=$root/usr/bin
"$bin/wellspring" --version > /dev/null
"$bin/wellspringd" --check-config --config "$root/usr/share/wellspring/wellspring.toml" > /dev/null
"$bin/wellspring" run --preload --report -- head -c 1 /dev/urandom 2>&1 > /dev/null | grep -q " 1 program loaded" ||
    fail "the installed command does not find the installed library"
for page in README.md SECURITY.md docs/how-to/service.md kernel/README.md; do
    cmp "$page" "$root/usr/share/doc/wellspring/$page" || fail "the book lacks $page"
done
PKG_CONFIG_PATH=$root/usr/lib/pkgconfig pkg-config --exists wellspring || fail "pkg-config does not read wellspring.pc"

[ "$(stat -c %s "$root/usr/lib/libwellspring.a")" -le 8388608 ] || fail "libwellspring.a has more than 8 MiB"
# A program of CMake with the shared library and with the archive. It asks for a version, and for one that it cannot get.
if command -v cmake > /dev/null; then
    mkdir "$units/cmake"
    cat > "$units/cmake/CMakeLists.txt" << 'end'
cmake_minimum_required(VERSION 3.5)
project(draw CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(wellspring 99.0 QUIET)
if(wellspring_FOUND)
    message(FATAL_ERROR "version 99.0 was found")
endif()
find_package(wellspring 0.1 REQUIRED)
foreach(kind wellspring static)
    add_executable(draw-${kind} draw.cpp)
    target_link_libraries(draw-${kind} PRIVATE wellspring::${kind})
endforeach()
end
    printf '#include <wellspring.hpp>\nint main() { return static_cast<int>(wellspring::below(1)); }\n' > "$units/cmake/draw.cpp"
    { cmake -S "$units/cmake" -B "$units/cmake/made" -DCMAKE_PREFIX_PATH="$root/usr" && cmake --build "$units/cmake/made"; } \
        > "$units/words" || fail "cmake: $(cat "$units/words")"
    for kind in wellspring static; do "$units/cmake/made/draw-$kind" || fail "the program with wellspring::$kind fails"; done
    rm -r "$units/cmake" "$units/words"
else
    echo "SKIPPED: cmake is not installed, so its package is not used"
fi
# A static program, of the words that pkg-config says.
printf '#include <wellspring.h>\nint main(void) { return (int)ws_below(1); }\n' > "$units/draw.c"
# shellcheck disable=SC2046
cc -static "$units/draw.c" -o "$units/draw" $(PKG_CONFIG_PATH=$root/usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root \
    pkg-config --cflags --libs --static wellspring) 2> "$units/words" || fail "cc -static: $(cat "$units/words")"
"$units/draw" || fail "the static program fails"
rm "$units/draw" "$units/draw.c" "$units/words"

if command -v systemd-analyze > /dev/null; then
    # Programs and man pages are where they were installed just now. All units first: a socket needs its service.
    for unit in "$root"/usr/lib/systemd/system/*; do
        sed -e "s|/usr/bin/|$bin/|g" -e 's|Documentation=man:|Documentation=file:/|' "$unit" > "$units/${unit##*/}"
    done
    for unit in "$units"/*; do
        systemd-analyze verify "$unit" 2> "$root/words" || fail "$unit: $(cat "$root/words")"
        [ ! -s "$root/words" ] || fail "$unit: $(cat "$root/words")"
        # 10.0 is no protection, and 2.6 the most exposure that a service of ours may have.
        case $unit in *.service) systemd-analyze security --offline=true --threshold=26 "$unit" | tail -n 1 ;; esac
    done
    rm -f "$root/words"
else
    echo "SKIPPED: systemd-analyze is not installed, so the units are not checked"
fi

# Units that were enabled leave no links behind.
if command -v systemctl > /dev/null; then
    systemctl --root="$root" --quiet enable wellspringd wellspring-seed wellspring-generation
    left | grep -q wants/ || fail "no unit was enabled"
fi
packaging/install.sh uninstall /usr "$root"
[ "$(left)" = ./usr/bin/other ] || fail "after uninstall there are: $(left)"
[ ! -e "$root/usr/lib" ] || fail "after uninstall there are folders"
packaging/install.sh uninstall /usr "$root" 2> /dev/null && fail "uninstall without an installation succeeded"
# Without a DESTDIR units are stopped, except the units that systemd has read from another installation. This systemctl notes
# what it was asked, and whether the files were still there.
mkdir "$units/bin"
cat > "$units/bin/systemctl" << 'end'
#!/bin/sh
case $* in
"show "*wellspringd.service) echo "$ROOT/opt/lib/systemd/system/wellspringd.service" ;;
"show "*) echo /usr/lib/systemd/system/other ;;
*) [ -e "$ROOT/opt/bin/wellspringd" ] && echo "$*" >> "$ROOT/asked" ;;
esac
end
chmod +x "$units/bin/systemctl"
packaging/install.sh install "$root/opt" > /dev/null
ROOT=$root PATH=$units/bin:$PATH packaging/install.sh uninstall "$root/opt"
[ "$(cat "$root/asked")" = "--quiet disable --now wellspringd.service" ] || fail "it stopped: $(cat "$root/asked")"
[ ! -e "$root/opt/lib" ] || fail "after uninstall there are folders in opt"
for wrong in "" / usr --prefix "/opt/a b" "/opt/a|b" '/opt/$(b)' /opt/../b; do
    packaging/install.sh install "$wrong" 2> /dev/null && fail "it took the prefix '$wrong'"
done
echo "installed, ran, checked and uninstalled"
