#!/bin/sh
# install.sh install|uninstall PREFIX [DESTDIR]: the work of `make install` and `make uninstall`.
#
# A manifest below PREFIX lists the folders that were made, each with a slash at its end, and then the files. A file of
# another package is not replaced, and a folder with files of others stays.
set -eu

task=${1:-} prefix=${2:-} root=${3:-}
case $task in install | uninstall) ;; *) task= ;; esac
case $prefix in /*) ;; *) task= ;; esac
if [ -z "$task" ]; then
    echo "usage: install.sh install|uninstall PREFIX [DESTDIR], with an absolute PREFIX such as /usr/local" >&2
    exit 2
fi
cd "$(dirname "$0")/.."
built=${CARGO_TARGET_DIR:-target}/release
manifest=$root$prefix/share/wellspring/manifest

# Removes what the manifest lists: files, then the folders that are empty, the innermost first.
uninstall() {
    grep -v '/$' "$manifest" | while IFS= read -r file; do rm -f "$root$file"; done
    folders=$(grep '/$' "$manifest" | sort -r) || true
    rm "$manifest"
    printf '%s\n' "$folders" | while IFS= read -r folder; do
        [ -z "$folder" ] || rmdir "$root$folder" 2>/dev/null || true
    done
}

if [ "$task" = uninstall ]; then
    [ -f "$manifest" ] || { echo "there is no $manifest" >&2; exit 1; }
    uninstall
    exit
fi

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

# put MODE FILE PATH: FILE will be PATH below the prefix.
put() { install -D -m "$1" "$2" "$stage$prefix/$3"; }
# Fills in the names that depend on the prefix.
fill() {
    sed -e "s|@prefix@|$prefix|g" -e "s|@libdir@|$prefix/lib|g" -e "s|@version@|$version|g" \
        -e "s|@module@|$prefix/$provider|g" -e "s|@config@|$prefix/$settings|g" -e "s|/usr/bin/|$prefix/bin/|g" \
        "$1" > "$stage/filled"
    put 644 "$stage/filled" "$2"
    rm "$stage/filled"
}
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
provider=lib/wellspring/ossl-modules/wellspring.so
settings=share/wellspring/openssl.cnf

for program in wellspring wellspringd; do put 755 "$built/$program" "bin/$program"; done
put 644 "$built/libwellspring_c.so" lib/libwellspring.so.0
ln -s libwellspring.so.0 "$stage$prefix/lib/libwellspring.so"
put 644 "$built/libwellspring_c.a" lib/libwellspring.a
put 644 "$built/libwellspring_preload.so" lib/wellspring/libwellspring-preload.so
put 644 "$built/libwellspring_openssl.so" "$provider"
for header in doors/wellspring-c/include/*.h doors/wellspring-c/include/*.hpp doors/wellspring-c/adapters/*.h; do
    put 644 "$header" "include/${header##*/}"
done
put 644 doors/wellspring-c/adapters/wellspring-r.c share/wellspring/wellspring-r.c
fill doors/wellspring-c/wellspring.pc.in lib/pkgconfig/wellspring.pc
fill doors/wellspring-openssl/openssl.cnf.in "$settings"
put 644 packaging/wellspring/wellspring.toml share/wellspring/wellspring.toml
put 644 packaging/grafana/wellspringd.json share/wellspring/grafana-wellspringd.json
for unit in packaging/systemd/*; do fill "$unit" "lib/systemd/system/${unit##*/}"; done
put 644 packaging/sysusers.d/wellspring.conf lib/sysusers.d/wellspring.conf
put 644 packaging/man/wellspringd.8 share/man/man8/wellspringd.8
for page in doors/wellspring-c/man/*.3; do put 644 "$page" "share/man/man3/${page##*/}"; done
mkdir -p "$stage$prefix/share/man/man1"
"$built/wellspring" man --output "$stage$prefix/share/man/man1"
completions() { "$built/wellspring" completions "$1" > "$stage/made" && put 644 "$stage/made" "$2" && rm "$stage/made"; }
completions bash share/bash-completion/completions/wellspring
completions fish share/fish/vendor_completions.d/wellspring.fish
completions zsh share/zsh/site-functions/_wellspring

(cd "$stage" && find . ! -type d | sed 's|^\.||' | sort) > "$stage.files"
trap 'rm -rf "$stage" "$stage.files" "$stage.made"' EXIT
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
trap 'uninstall; rm -rf "$stage" "$stage.files" "$stage.made"' EXIT
while IFS= read -r file; do
    if [ -L "$stage$file" ]; then
        install -d "$root${file%/*}"
        cp -P "$stage$file" "$root$file"
    else
        # install(1) replaces the file; a program that runs keeps its own.
        install -D -m "$(stat -c %a "$stage$file")" "$stage$file" "$root$file"
    fi
done < "$stage.files"
trap 'rm -rf "$stage" "$stage.files" "$stage.made"' EXIT
echo "$(wc -l < "$stage.files") files below $root$prefix"
