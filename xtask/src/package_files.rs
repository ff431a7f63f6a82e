//! The files that an installation has for other languages: libraries, headers, settings, man pages.

use std::fs;
use std::path::Path;

/// A file to install.
pub(crate) struct Item {
    /// The path below the prefix.
    pub(crate) path: String,
    /// The contents of the file; for a symbolic link, the path that it leads to.
    pub(crate) bytes: Vec<u8>,
    /// The permissions, or [`LINK`] for a symbolic link.
    pub(crate) mode: u32,
}

/// The mode of an [`Item`] that is a symbolic link.
pub(crate) const LINK: u32 = 0;

/// Reads the items from the folder of the release build. `prefix` is where they will be installed; some of them contain
/// it.
pub(crate) fn items(repository: &Path, built: &Path, prefix: &Path) -> Result<Vec<Item>, String> {
    let doors = repository.join("doors");
    let c = doors.join("wellspring-c");
    let module = "lib/wellspring/ossl-modules/wellspring.so";
    let configuration = "share/wellspring/openssl.cnf";
    let files = [
        (built.join("libwellspring_c.so"), "lib/libwellspring.so.0"),
        (built.join("libwellspring_c.a"), "lib/libwellspring.a"),
        (
            built.join("libwellspring_preload.so"),
            "lib/wellspring/libwellspring-preload.so",
        ),
        (built.join("libwellspring_openssl.so"), module),
        (c.join("include/wellspring.h"), "include/wellspring.h"),
        (c.join("include/wellspring.hpp"), "include/wellspring.hpp"),
        (
            c.join("adapters/wellspring-libsodium.h"),
            "include/wellspring-libsodium.h",
        ),
        (
            c.join("adapters/wellspring-gsl.h"),
            "include/wellspring-gsl.h",
        ),
        (
            c.join("adapters/wellspring-mbedtls.h"),
            "include/wellspring-mbedtls.h",
        ),
        (
            c.join("adapters/wellspring-r.c"),
            "share/wellspring/wellspring-r.c",
        ),
        (c.join("wellspring.pc.in"), "lib/pkgconfig/wellspring.pc"),
        (
            doors.join("wellspring-openssl/openssl.cnf.in"),
            configuration,
        ),
    ];
    let below = |path: &str| prefix.join(path).display().to_string();
    let mut items = Vec::new();
    for (from, path) in files {
        let mut bytes = fs::read(&from).map_err(|error| format!("{}: {error}", from.display()))?;
        if from.extension().is_some_and(|end| end == "in") {
            bytes = String::from_utf8_lossy(&bytes)
                .replace("@prefix@", &prefix.display().to_string())
                .replace("@libdir@", &below("lib"))
                .replace("@version@", env!("CARGO_PKG_VERSION"))
                .replace("@module@", &below(module))
                .replace("@config@", &below(configuration))
                .into_bytes();
        }
        items.push(Item {
            path: path.into(),
            bytes,
            mode: 0o644,
        });
    }
    items.push(Item {
        path: "lib/libwellspring.so".into(),
        bytes: b"libwellspring.so.0".to_vec(),
        mode: LINK,
    });
    let pages = c.join("man");
    let entries = fs::read_dir(&pages).map_err(|error| format!("{}: {error}", pages.display()))?;
    for entry in entries.flatten() {
        let page = entry.path();
        items.push(Item {
            path: format!("share/man/man3/{}", entry.file_name().to_string_lossy()),
            bytes: fs::read(&page).map_err(|error| format!("{}: {error}", page.display()))?,
            mode: 0o644,
        });
    }
    Ok(items)
}
