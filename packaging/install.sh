#!/bin/sh
# install.sh install|uninstall PREFIX [DESTDIR [LIBDIR]]: the work of `make install` and `make uninstall`. LIBDIR is the
# folder below PREFIX for libraries that programs are linked to. A static archive has the programs in bin/, and no libraries.
#
# Uninstalling stops the units first. With a DESTDIR it disables them there.
#
# A manifest below PREFIX lists the folders that were made, each with a slash at its end, and then the files. A file of
# another package is not replaced, and a folder with files of others stays.
set -eu
umask 022

task=${1:-} prefix=${2:-} root=${3:-} lib=${4:-lib}
case $task in install | uninstall) ;; *) task= ;; esac
# The names go into units and other files, where a space or a sign would have a meaning.
case $prefix/$lib in *[!A-Za-z0-9/._+-]* | */../*) task= ;; esac
case $prefix in /?*) ;; *) task= ;; esac
if [ -z "$task" ] || [ $# -gt 4 ]; then
    echo "usage: install.sh install|uninstall PREFIX [DESTDIR [LIBDIR]], with an absolute PREFIX such as /usr/local" >&2
    exit 2
fi
case $root in "" | /*) ;; *) root=$PWD/$root ;; esac
cd "$(dirname "$(readlink -f "$0")")/.."
if [ -f sha256sums ]; then sha256sum -c sha256sums > /dev/null; fi
if [ -d bin ]; then built=bin; else built=${CARGO_TARGET_DIR:-target}/release; fi
manifest=$root$prefix/share/wellspring/manifest

# Stops and disables the units of this installation. A unit of this name may come from elsewhere, such as a package: systemd
# knows which file it has read.
stop_units() {
    command -v systemctl > /dev/null || return 0
    grep '/lib/systemd/system/' "$manifest" | grep -v '/$' | while IFS= read -r file; do
        unit=${file##*/}
        if [ -n "$root" ]; then
            systemctl --root="$root" --quiet disable "$unit"
        elif [ "$(systemctl show --property=FragmentPath --value "$unit" 2> /dev/null)" = "$file" ]; then
            systemctl --quiet disable --now "$unit"
        fi
    done || true
}

# Removes what the manifest lists: files, then the folders that are empty, the innermost first.
uninstall() {
    grep -v '/$' "$manifest" | while IFS= read -r file; do rm -f "$root$file"; done
    folders=$(grep '/$' "$manifest" | sort -r) || true
    rm "$manifest"
    printf '%s\n' "$folders" | while IFS= read -r folder; do
        [ -z "$folder" ] || rmdir "$root$folder" 2>/dev/null || true
    done
}

# Has the loader know the library, or forget it: it looks into a list, which ldconfig makes of its folders. Only root may, and
# with a DESTDIR the files are not in their place yet.
tell_loader() {
    library=$prefix/$lib/libwellspring.so.0
    PATH=$PATH:/usr/sbin:/sbin
    # musl's loader has no list.
    command -v ldconfig > /dev/null || return 0
    if [ -n "$root" ] || [ "$(id -u)" != 0 ]; then
        echo "next, as root, so that programs find $library: ldconfig"
    elif ldconfig && [ -e "$library" ] && ! ldconfig -p | grep -qF "$library"; then
        echo "next: $prefix/$lib is no folder of the loader; name it in a file of /etc/ld.so.conf.d, and run ldconfig"
    fi
}

if [ "$task" = uninstall ]; then
    [ -f "$manifest" ] || { echo "there is no $manifest" >&2; exit 1; }
    stop_units
    uninstall
    if [ "$built" != bin ] && [ -z "$root" ] && [ "$(id -u)" = 0 ]; then tell_loader; fi
    # systemd forgets the units.
    if [ -z "$root" ] && [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
    exit
fi

# A folder of root's alone: beside it in /tmp, another user could have put the lists below.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
stage=$work/stage
mkdir "$stage"

# place MODE FILE PATH: as `install -D`, which not every busybox has. A program that runs keeps the file that it has.
place() { mkdir -p "${3%/*}" && rm -f "$3" && cp "$2" "$3" && chmod "$1" "$3"; }
# put MODE FILE PATH: FILE will be PATH below the prefix.
put() { place "$1" "$2" "$stage$prefix/$3"; }
# put_page FILE: a man page, and a link to it for each other name in its NAME, one a line.
put_page() {
    page=${1##*/} section=${1##*.}
    put 644 "$1" "share/man/man$section/$page"
    for name in $(sed -n '/^\.SH NAME$/,/ \\- /s/^\([a-z][a-z0-9_.]*\).*/\1/p' "$1"); do
        [ "$name.$section" = "$page" ] || ln -s "$page" "$stage$prefix/share/man/man$section/$name.$section"
    done
}
# Fills in the names that depend on the prefix.
fill() {
    sed -e "s|@prefix@|$prefix|g" -e "s|@libdir@|$prefix/$lib|g" -e "s|@lib@|$lib|g" -e "s|@version@|$version|g" \
        -e "s|@module@|$prefix/$provider|g" -e "s|@config@|$prefix/$settings|g" -e "s|/usr/bin/|$prefix/bin/|g" \
        "$1" > "$stage/filled"
    put 644 "$stage/filled" "$2"
    rm "$stage/filled"
}
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
provider=lib/wellspring/ossl-modules/wellspring.so
settings=share/wellspring/openssl.cnf

for program in wellspring wellspringd; do put 755 "$built/$program" "bin/$program"; done
libraries() {
    put 644 "$built/libwellspring_c.so" "$lib/libwellspring.so.0"
    ln -s libwellspring.so.0 "$stage$prefix/$lib/libwellspring.so"
    # Without the compiler's bitcode and without debug information it has 6 MB in place of 26.
    objcopy --strip-unneeded -R .llvmbc -R .llvmcmd "$built/libwellspring_c.a" "$work/libwellspring.a"
    put 644 "$work/libwellspring.a" "$lib/libwellspring.a"
    put 644 "$built/libwellspring_preload.so" lib/wellspring/libwellspring-preload.so
    put 644 "$built/libwellspring_openssl.so" "$provider"
    for guard in clones/guards/node/clone_guard.js clones/guards/ruby/clone_guard.rb; do
        put 644 "$guard" "lib/wellspring/guards/${guard##*/}"
    done
    if command -v javac > /dev/null && command -v jar > /dev/null; then
        clones/guards/jvm/build.sh "$stage$prefix/lib/wellspring/guards"
    fi
    for header in bindings/c/include/*.h bindings/c/include/*.hpp bindings/c/adapters/*.h; do
        put 644 "$header" "include/${header##*/}"
    done
    for file in bindings/c/man/*.3; do put_page "$file"; done
    fill bindings/c/wellspring.pc.in "$lib/pkgconfig/wellspring.pc"
    for file in wellspring-config.cmake wellspring-config-version.cmake; do
        fill "bindings/c/$file.in" "$lib/cmake/wellspring/$file"
    done
    fill interpose/openssl/openssl.cnf.in "$settings"
}
if [ "$built" != bin ]; then libraries; fi
put 644 packaging/wellspring/wellspring.toml share/wellspring/wellspring.toml
put 644 packaging/grafana/wellspringd.json share/wellspring/grafana-wellspringd.json
for file in prometheus.yml wellspringd.rules.yml; do
    put 644 "packaging/prometheus/$file" "share/wellspring/prometheus/$file"
done
for unit in packaging/systemd/*; do fill "$unit" "lib/systemd/system/${unit##*/}"; done
put 644 packaging/sysusers.d/wellspring.conf lib/sysusers.d/wellspring.conf
for file in packaging/man/*; do put_page "$file"; done
# The book: SECURITY.md and all pages that its list names, in the folders of the repository, so that the links between them work.
for page in docs/SUMMARY.md $(sed -n 's|.*](\(.*\.md\)).*|docs/\1|p' docs/SUMMARY.md | sed 's|^docs/\.\./||'); do
    put 644 "$page" "share/doc/wellspring/$page"
done
mkdir -p "$stage$prefix/share/man/man1"
"$built/wellspring" man --output "$stage$prefix/share/man/man1"
completions() { "$built/wellspring" completions "$1" > "$stage/made" && put 644 "$stage/made" "$2" && rm "$stage/made"; }
completions bash share/bash-completion/completions/wellspring
completions fish share/fish/vendor_completions.d/wellspring.fish
completions zsh share/zsh/site-functions/_wellspring

(cd "$stage" && find . ! -type d | sed 's|^\.||' | sort) > "$stage.files"
while IFS= read -r file; do
    if { [ -e "$root$file" ] || [ -L "$root$file" ]; } && ! grep -qxF "$file" "$manifest" 2>/dev/null; then
        echo "$root$file: it exists, and is not from an installation by this command" >&2
        exit 1
    fi
done < "$stage.files"
if [ -f "$manifest" ]; then uninstall; fi

(cd "$stage" && find . -type d | sed 's|^\.||' | sort) | while IFS= read -r folder; do
    [ -d "$root$folder" ] || printf '%s/\n' "$folder"
done > "$stage.made"
# The manifest comes first: an installation that fails in the middle is removed.
mkdir -p "${manifest%/*}"
cat "$stage.made" "$stage.files" > "$manifest"
trap 'uninstall; rm -rf "$work"' EXIT
while IFS= read -r file; do
    if [ -L "$stage$file" ]; then
        mkdir -p "$root${file%/*}"
        cp -P "$stage$file" "$root$file"
    else
        place "$(stat -c %a "$stage$file")" "$stage$file" "$root$file"
    fi
done < "$stage.files"
trap 'rm -rf "$work"' EXIT
echo "$(wc -l < "$stage.files") files below $root$prefix"
if [ "$built" != bin ]; then tell_loader; fi
if [ -z "$root" ]; then
    cat << 'END'
next: wellspring bytes 32 --hex
in C: cc program.c $(pkg-config --cflags --libs wellspring)
the host service: systemctl daemon-reload && systemd-sysusers && systemctl enable --now wellspringd
END
    echo "all pages: $prefix/share/doc/wellspring"
fi
