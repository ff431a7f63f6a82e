# `make` builds, `make install` installs what it built. PREFIX is where the files are used; a package sets DESTDIR, a folder
# that stands for the root. `make uninstall` removes exactly what was installed.

PREFIX = /usr/local
DESTDIR =

build:
	cargo build --release --locked -p wellspring-cli -p wellspring-service -p wellspring-c -p wellspring-preload \
		-p wellspring-openssl

install uninstall:
	packaging/install.sh $@ "$(PREFIX)" "$(DESTDIR)"

check-install: build
	packaging/check-install.sh

.PHONY: build install uninstall check-install
