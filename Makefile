# `make` builds, `make install` installs what it built. PREFIX is where the files are used; a package sets DESTDIR, a folder
# that stands for the root, and LIBDIR, the folder below PREFIX for libraries. `make uninstall` stops the units and removes
# exactly what was installed.

PREFIX = /usr/local
DESTDIR =
LIBDIR = lib
# How to build: `cargo auditable` writes the list of dependencies into each binary.
CARGO = cargo

build:
	$(CARGO) build --release --locked -p wellspring-cli -p wellspring-service -p wellspring-c -p wellspring-preload \
		-p wellspring-openssl

install uninstall:
	packaging/install.sh $@ "$(PREFIX)" "$(DESTDIR)" "$(LIBDIR)"

install-guest: install
	packaging/guest/install.sh install "$(PREFIX)" "$(DESTDIR)"

uninstall-guest:
	packaging/guest/install.sh uninstall "$(PREFIX)" "$(DESTDIR)"
	packaging/install.sh uninstall "$(PREFIX)" "$(DESTDIR)"

check-install: build
	packaging/check-install.sh

.PHONY: build install uninstall install-guest uninstall-guest check-install
