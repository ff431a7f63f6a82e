//! A database that draws its random bytes from OpenSSL, through an extension.

use crate::common::{are_installed, configuration_in, is_success, run};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use wellspring_interpose::door_counters::{Door, DoorCounters, VARIABLE};

/// A new cluster, and one statement in a server without a network. Postgres refuses to run as root.
const SCRIPT: &str = "set -e; \
    b=$(dirname $(ls -d /usr/lib/postgresql/*/bin/initdb | tail -1)); \
    $b/initdb --no-sync --locale=C -A trust -D data > log 2>&1 || { cat log; exit 1; }; \
    printf 'create extension pgcrypto;\\nselect encode(gen_random_bytes(1000), $$hex$$);\\n' | \
        $b/postgres --single -D data postgres";

#[test]
fn postgres_draws_through_pgcrypto() {
    if !are_installed(&["openssl", "setpriv"]) {
        return;
    }
    if !is_success(
        "ls /usr/lib/postgresql/*/bin/initdb /usr/share/postgresql/*/extension/pgcrypto.control",
    ) {
        eprintln!("SKIPPED: postgres with pgcrypto is not installed");
        return;
    }
    let user = "setpriv --reuid 65534 --regid 65534 --clear-groups";
    if !is_success(&format!("{user} true")) {
        eprintln!("SKIPPED: only root can run postgres as another user");
        return;
    }
    // Another user must reach everything: the target folder may be below a folder of root.
    let folder = std::env::temp_dir().join(format!("wellspring-postgres-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).unwrap();
    open_to_all(&folder);
    let settings = configuration_in(&folder, |text| text);
    let page = folder.join("counters");
    fs::write(&page, [0; 4096]).unwrap();
    // Give the page to that user: a page that others can write would not be used.
    std::os::unix::fs::chown(&page, Some(65534), Some(65534)).unwrap();
    fs::write(folder.join("script"), SCRIPT).unwrap();
    let script = format!(
        "export {VARIABLE}={}; exec {user} sh script",
        testkit::programs::quoted(&page)
    );
    let run = run(&script, &settings);
    let mut options = fs::File::options();
    let counters = DoorCounters::map(options.read(true).write(true).open(&page).unwrap()).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    let counts = counters.counts(Door::Provider);
    let text = run.succeeds().text();
    assert!(text.contains("encode = \""), "{text}");
    assert!(counts.bytes >= 1000, "{counts:?}\n{text}");
}

fn open_to_all(folder: &Path) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).unwrap();
}
