#!/usr/bin/env bash
# build.sh WORK OUT [PART]..: builds what a release has, of the commit that is checked out. WORK is a folder to build in, which
# may stay from an earlier run; OUT gets the artefacts. `cargo xtask dist` calls it, and RELEASING.md explains it.
#
# The parts, in the order in which they are built. No artefact has a path, a user or the time of the build in it.
parts=(source tarballs wheels deb rpm images sbom)
# Of the static programs, and so of the images. The gate builds one.
read -ra architectures <<< "${WELLSPRING_ARCHITECTURES:-x86_64 aarch64}"
set -euo pipefail
umask 022
export LC_ALL=C TZ=UTC

repository=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$1" "$2"
work=$(cd "$1" && pwd) out=$(cd "$2" && pwd)
shift 2
[ $# = 0 ] || parts=("$@")
cd "$repository"
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
name=wellspring-$version
source=$work/$name
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
export CARGO_HOME=${CARGO_HOME:-$HOME/.cargo} RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup}
export CARGO_TARGET_DIR=$work/target CARGO_PROFILE_RELEASE_STRIP=symbols
export RUSTFLAGS="--remap-path-prefix=$work=/usr/src --remap-path-prefix=$CARGO_HOME=/usr/share/cargo"
# This process may come from a cargo of one toolchain; `cargo` in PATH chooses by itself.
unset CARGO RUSTC RUSTDOC
tools=$repository/target/tools
export PATH=$tools/bin:$tools/python/bin:$PATH

# Cargo installs what Debian 12 does not have.
tool() { command -v "$1" > /dev/null || cargo install --quiet --locked --root "$tools" "$1@$2" --target-dir "$tools/target"; }
# One tar for all: the same names, order, times and owners on every machine.
archive() {
    tar --create --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw --directory "$@"
}

# Runs a command in a folder of the source whose path is the same in every build: in a mount namespace WORK is /usr/src. If a
# crate is outside its user's workspace, as for the Python package, Cargo makes names of symbols from its path.
fixed() {
    local folder=$1 user=()
    shift
    [ "$(id -u)" = 0 ] || user=(--map-root-user)
    # shellcheck disable=SC2016
    local steps='mount --bind "$0" /usr/src && cd "$1" && shift && exec env CARGO_TARGET_DIR=/usr/src/target "$@"'
    unshare --mount "${user[@]}" sh -c "$steps" "$work" "/usr/src/$name/$folder" "$@"
}

# The commit, and all crates that it needs: with both, a build needs no network.
source() {
    git archive --prefix="$name/" HEAD | xz > "$out/$name.tar.xz"
    (
        cd "$source"
        settings=$(cargo vendor --quiet --locked --sync bindings/python/Cargo.toml "$work/vendor/vendor")
        mkdir -p "$work/vendor/.cargo"
        printf '%s\n' "$settings" | sed 's|^directory = .*|directory = "vendor"|' > "$work/vendor/.cargo/config.toml"
    )
    archive "$work/vendor" --transform "s|^\.|$name|" . | xz -T2 > "$out/$name-vendor.tar.xz"
    rm -r "$work/vendor"
}

# Static programs, which the archives and the images share. The linker comes with Rust, and the C library with its target.
static() {
    local architecture=$1
    local linker=CARGO_TARGET_${architecture^^}_UNKNOWN_LINUX_MUSL_LINKER
    # Not exported: the wheels for musl have another linker.
    (cd "$source" && env "$linker=rust-lld" cargo auditable build --release --locked \
        --target "$architecture-unknown-linux-musl" -p wellspring-cli -p wellspring-service)
}

tarballs() {
    for architecture in "${architectures[@]}"; do
        static "$architecture"
        local folder=$work/$name-$architecture-linux
        rm -rf "$folder"
        install -D -t "$folder/bin" "$CARGO_TARGET_DIR/$architecture-unknown-linux-musl/release/"{wellspring,wellspringd}
        # The pages of the book, which install.sh installs, are many: all that their list names.
        (cd "$source" && sed -n 's|.*](\(.*\.md\)).*|docs/\1|p' docs/SUMMARY.md | sed 's|^docs/\.\./||' |
            xargs cp -r --parents --target-directory="$folder" LICENSE-* Cargo.toml docs/SUMMARY.md packaging/install.sh \
                packaging/systemd packaging/sysusers.d packaging/man packaging/wellspring packaging/grafana \
                packaging/prometheus packaging/images)
        ln -s packaging/install.sh "$folder/install.sh"
        (cd "$folder" && find . -type f ! -name sha256sums | sort | xargs sha256sum > sha256sums)
        archive "$work" "${folder##*/}" | gzip -n9 > "$out/${folder##*/}.tar.gz"
    done
}

# zig is the compiler and has the C libraries of all four platforms. maturin checks each wheel as auditwheel does.
# auditwheel itself reads no wheel of musl on a system with glibc.
wheels() {
    [ -x "$tools/python/bin/maturin" ] || {
        python3 -m venv "$tools/python"
        "$tools/python/bin/pip" install --quiet -r "$repository/packaging/dist/requirements.txt"
    }
    for platform in x86_64-unknown-linux-gnu:manylinux2014 aarch64-unknown-linux-gnu:manylinux2014 \
        x86_64-unknown-linux-musl:musllinux_1_2 aarch64-unknown-linux-musl:musllinux_1_2; do
        fixed bindings/python maturin build --quiet --release --locked --zig \
            --target "${platform%:*}" --compatibility "${platform#*:}" --out "$out"
    done
    (cd "$source/bindings/python" && maturin sdist --out "$out")
    for wheel in "$out"/*manylinux*.whl; do auditwheel show "$wheel" > "$work/words" || { cat "$work/words"; exit 1; }; done
    twine check --strict "$out"/wellspring_random-*
}

# All packages, and an index that makes the folder an apt repository.
deb() {
    mkdir -p "$out/debian"
    rm -rf "$source/debian"
    cp -r "$source/packaging/debian" "$source/debian"
    # Without a look at what the build needs: Debian 12 has no Rust of the stated version.
    CARGO="cargo auditable" DEB_BUILD_OPTIONS=noautodbgsym fixed . dpkg-buildpackage --build=binary \
        --no-check-builddeps --unsigned-changes > "$work/deb.log" 2>&1 || { cat "$work/deb.log"; exit 1; }
    mv "$work"/*.deb "$out/debian"
    # The project has no address for post yet, and no bug number in Debian.
    lintian --allow-root --profile debian --fail-on error,warning \
        --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog,initial-upload-closes-no-bugs "$out"/debian/*.deb
    (
        cd "$out/debian"
        apt-ftparchive packages . > Packages
        apt-ftparchive -o APT::FTPArchive::Release::Suite=stable release . |
            sed "s/^Date: .*/Date: $(date --utc --date="@$SOURCE_DATE_EPOCH" '+%a, %d %b %Y %T %Z')/" > "$work/Release"
        mv "$work/Release" .
    )
}

rpm() {
    mkdir -p "$out/rpm"
    CARGO="cargo auditable" fixed . rpmbuild -bb --build-in-place --define "_topdir $work/rpm" \
        --define "_rpmdir $work/rpm" --define "_buildhost wellspring" --define "use_source_date_epoch_as_buildtime 1" \
        --define "clamp_mtime_to_source_date_epoch 1" packaging/rpm/wellspring.spec > "$work/rpm.log" 2>&1 ||
        { cat "$work/rpm.log"; exit 1; }
    mv "$work"/rpm/*/*.rpm "$out/rpm"
}

# An OCI layout in an archive, with both images for both processors. Its layers are what the Containerfile copies.
images() {
    local layout=$work/oci storage=(--root "$work/buildah" --runroot "$work/buildah-run" --storage-driver vfs)
    rm -rf "$layout" "$work/buildah" "$work/buildah-run"
    for image in wellspring wellspringd; do
        buildah "${storage[@]}" manifest create "$image:$version" > /dev/null
        for architecture in "${architectures[@]}"; do
            buildah "${storage[@]}" build --quiet --arch "$architecture" --timestamp "$SOURCE_DATE_EPOCH" \
                --isolation chroot --target "$image" --manifest "$image:$version" \
                --file "$source/packaging/images/Containerfile" "$work/$name-$architecture-linux" > /dev/null
        done
        buildah "${storage[@]}" manifest push --quiet --all "$image:$version" "oci:$layout:$image:$version"
    done
    archive "$layout" . > "$out/$name-images.oci.tar"
    rm -rf "$layout"
}

# The crates in each artefact, as CycloneDX. Binaries have the list of cargo-auditable, too.
sbom() {
    tool cargo-cyclonedx 0.5.9
    mkdir -p "$out/sbom"
    for manifest in Cargo.toml bindings/python/Cargo.toml; do
        cargo-cyclonedx cyclonedx --quiet --format json --spec-version 1.5 --manifest-path "$source/$manifest" \
            --override-filename sbom
    done
    for package in programs/command programs/service bindings/c bindings/python interpose/preload interpose/openssl; do
        sed "s|$source|.|g" "$source/$package/sbom.json" > "$out/sbom/wellspring-${package#*/}.cdx.json"
    done
    find "$source" -name sbom.json -delete
}

tool cargo-auditable 0.7.7
commit=$(git rev-parse HEAD)
if [ "$(cat "$work/commit" 2> /dev/null)" != "$commit" ]; then
    rm -rf "$source"
    # The files are new, so that cargo does not take results of another commit for theirs.
    git archive --prefix="$name/" HEAD | tar -x --touch --directory "$work"
    python3 "$source/packaging/dist/third-party.py" "$source" > "$source/LICENSE-THIRD-PARTY"
    cp "$source/LICENSE-THIRD-PARTY" "$source/bindings/python"
    echo "$commit" > "$work/commit"
fi
for part in "${parts[@]}"; do
    echo "== $part"
    "$part"
done
python3 "$repository/packaging/dist/provenance.py" "$out" "$commit" "$RUSTFLAGS" "$source"
echo "== $(find "$out" -type f | wc -l) files in $out"
