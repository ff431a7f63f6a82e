//! Status and metrics, as JSON, text and for Prometheus; the generation page, seen from another namespace.

use super::common::{
    PATIENCE, Service, copy_program, is_installed, is_long, is_root, quoted, wellspringd,
};
use super::hostile::become_unprivileged;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use wellspring::clone_detection::{bump, current};
use wellspring_client::{Client, ClientError};

#[test]
fn prometheus_finds_no_fault_in_the_metrics() {
    if !is_installed("promtool") {
        return;
    }
    let service = Service::start("");
    let metrics = service.get("/metrics");
    let mut command = Command::new("promtool");
    command
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .stdout(Stdio::piped());
    let mut promtool = command.spawn().unwrap();
    promtool
        .stdin
        .take()
        .unwrap()
        .write_all(metrics.as_bytes())
        .unwrap();
    let output = promtool.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn prometheus_finds_no_fault_in_the_scrape_config_and_each_alert_fires_when_it_should() {
    if !is_installed("promtool") {
        return;
    }
    for words in [
        &["check", "config", "prometheus.yml"][..],
        &["test", "rules", "wellspringd.test.yml"],
    ] {
        let mut command = Command::new("promtool");
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/prometheus");
        let output = command.args(words).current_dir(folder).output().unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
    }
}

#[test]
fn status_is_printed_for_people_and_as_json_and_says_what_is_not_open() {
    let service = Service::start("[egd]\nlisten = [\"egd.sock\", \"/nowhere/egd.sock\"]\n");
    let config = service.folder.path("wellspring.toml");
    let status = |more: &[&str]| {
        let output = wellspringd()
            .arg("status")
            .arg("--config")
            .arg(&config)
            .args(more)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let text = status(&[]);
    let problem = "! egd at /nowhere/egd.sock is not open: No such file or directory";
    assert!(text.starts_with(problem), "{text}");
    for words in ["ready", "bulk", "jitter"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let json: serde_json::Value = serde_json::from_str(&status(&["--json"])).unwrap();
    assert_eq!(json["phase"], "ready");
    assert_eq!(json["process"], service.child.id());
}

/// The one line of `wellspringd status` when it fails.
fn failed_status(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.lines().count(), 1, "{said}");
    said
}

#[test]
fn status_tells_no_service_from_no_permission() {
    let folder = super::common::Folder::new();
    let config = folder.configure("");
    let mut ask = wellspringd();
    ask.arg("status").arg("--config").arg(&config);
    let said = failed_status(&mut ask);
    assert!(said.starts_with("wellspringd: no service runs: "), "{said}");
    assert!(said.contains("; start it with "), "{said}");
    // The file of a socket on which no process listens any more.
    let web = folder.path("run/web.sock");
    std::fs::create_dir(folder.path("run")).unwrap();
    drop(std::os::unix::net::UnixListener::bind(&web).unwrap());
    let said = failed_status(&mut ask);
    assert!(said.starts_with("wellspringd: no service runs: "), "{said}");
    if !is_root() {
        return;
    }
    let service = Service::start("");
    // The folder of the tests, which are root's, is not open to other users.
    let program = service.folder.path("wellspringd");
    copy_program(env!("CARGO_BIN_EXE_wellspringd"), &program);
    let mut ask = Command::new(program);
    ask.arg("status")
        .arg("--config")
        .arg(service.folder.path("wellspring.toml"));
    let said = failed_status(ask.uid(4711).gid(4711));
    let expected = format!(
        "wellspringd: no permission to ask the service: {}: Permission denied",
        service.folder.path("run/web.sock").display()
    );
    assert!(said.starts_with(&expected), "{said}");
}

/// Without a configuration a user has a folder of their own, and there is no service.
#[test]
fn a_user_without_a_service_hears_of_that_of_root() {
    if !is_root() || !is_installed("nsenter") {
        return;
    }
    let folder = super::common::Folder::new();
    std::fs::set_permissions(&folder.0, std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = folder.path("wellspringd");
    copy_program(env!("CARGO_BIN_EXE_wellspringd"), &program);
    let mut start = Command::new("unshare");
    let script = format!("mount -t tmpfs none /run && exec {}", quoted(&program));
    start
        .args(["-m", "sh", "-c", &script])
        .env_remove("RUNTIME_DIRECTORY");
    let service = Service::spawn(folder, &mut start);
    let mut ask = Command::new("nsenter");
    ask.args(["-m", "-t", &service.child.id().to_string()]);
    ask.args(["--setuid=4711", "--setgid=4711"])
        .arg(&program)
        .arg("status");
    let said = failed_status(ask.env_remove("XDG_RUNTIME_DIR"));
    let expected = "wellspringd: no permission to ask the service: /run/wellspring/web.sock: ";
    assert!(said.starts_with(expected), "{said}");
}

#[test]
fn a_foreign_page_cannot_read_the_status_by_a_name_of_its_own() {
    let service = Service::start("");
    let mut stream = service.socket("web.sock");
    stream
        .write_all(b"GET /status.json HTTP/1.1\r\nHost: evil.example\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 421 "), "{answer}");
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

/// A query that Prometheus answers from what it has scraped.
#[test]
fn prometheus_scrapes_the_service() {
    if !is_long("it takes seconds") || !is_installed("prometheus") {
        return;
    }
    let (web, own) = (free_port(), free_port());
    let service = Service::start(&format!("[web]\nlisten = [\"127.0.0.1:{web}\"]\n"));
    let config = service.folder.path("prometheus.yml");
    let text = include_str!("../../../../packaging/prometheus/prometheus.yml");
    let text = text.replace("127.0.0.1:9464", &format!("127.0.0.1:{web}"));
    let text =
        text.replace("  - wellspringd.rules.yml\n", "") + "\nglobal:\n  scrape_interval: 1s\n";
    std::fs::write(&config, text).unwrap();
    let mut command = Command::new("prometheus");
    command
        .arg(format!("--config.file={}", config.display()))
        .arg(format!(
            "--storage.tsdb.path={}",
            service.folder.path("data").display()
        ))
        .arg(format!("--web.listen-address=127.0.0.1:{own}"))
        .stderr(Stdio::null());
    let mut prometheus = command.spawn().unwrap();
    let query = || {
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", own)).ok()?;
        let request =
            "GET /api/v1/query?query=wellspring_ready HTTP/1.0\r\nHost: localhost\r\n\r\n";
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        answer
            .contains("\"__name__\":\"wellspring_ready\"")
            .then_some(answer)
    };
    let until = std::time::Instant::now() + PATIENCE;
    let answer = loop {
        let answer = query();
        if answer.is_some() || std::time::Instant::now() > until {
            break answer;
        }
        std::thread::sleep(std::time::Duration::from_millis(200));
    };
    prometheus.kill().unwrap();
    prometheus.wait().unwrap();
    let answer = answer.expect("Prometheus scraped nothing");
    assert!(answer.trim_end().ends_with(",\"1\"]}]}}"), "{answer}");
}

#[test]
fn the_text_and_the_page_of_the_status_say_what_is_not_open_and_bring_no_script() {
    let service = Service::start("[egd]\nlisten = [\"/nowhere/<x>.sock\"]\n");
    let ask = |path: &str, media_type: &str| {
        let mut stream = service.socket("web.sock");
        write!(stream, "GET {path} HTTP/1.1\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        for line in [
            &*format!("Content-Type: {media_type}; charset=utf-8"),
            "X-Content-Type-Options: nosniff",
            "Content-Security-Policy: default-src 'none'; style-src 'sha256-",
            "='; frame-ancestors 'none'",
        ] {
            assert!(head.contains(line), "{path}: no '{line}': {head}");
        }
        body.to_owned()
    };
    let text = ask("/status.txt", "text/plain");
    let problem = "! egd at /nowhere/<x>.sock is not open";
    assert!(text.starts_with(problem), "{text}");
    for words in ["ready", "web", "jitter", "bytes in pools", "user  bytes"] {
        assert!(text.contains(words), "no '{words}': {text}");
    }
    let page = ask("/", "text/html");
    let problem = "<li>egd at /nowhere/&lt;x&gt;.sock is not open";
    for words in [problem, "ready", "web", "jitter", "The last 24 hours"] {
        assert!(page.contains(words), "no '{words}': {page}");
    }
    for words in ["<script", "<x>", "http:", "https:", "src="] {
        assert!(!page.contains(words), "'{words}': {page}");
    }
}

/// Draws, and waits until the day has the bytes, the seeds and the sources.
fn draw_a_day(service: &Service) -> serde_json::Value {
    let socket = service.folder.path("run/bulk.sock");
    let mut client = Client::connect(socket, PATIENCE).unwrap();
    client.fill(&mut [0; 70_000]).unwrap();
    let until = std::time::Instant::now() + PATIENCE;
    loop {
        let day = service.status()["day"].clone();
        let bulk = &day["doors"][4];
        assert_eq!(bulk["name"], "bulk");
        let drawn: u64 = figures(&bulk["bytes"]).sum();
        if drawn == 70_000 && figures(&day["reseeds"]).sum::<u64>() > 0 {
            return day;
        }
        assert!(std::time::Instant::now() < until, "{day}");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

fn figures(list: &serde_json::Value) -> impl Iterator<Item = u64> {
    let list = list.as_array().unwrap();
    list.iter().map(|one| one.as_u64().unwrap())
}

#[test]
fn the_day_has_what_the_doors_handed_out_the_seeds_and_each_source() {
    let service = Service::start("");
    let day = draw_a_day(&service);
    assert_eq!(day["slot_s"], 900);
    assert!(figures(&day["doors"][4]["requests"]).sum::<u64>() >= 1);
    let sources = service.status()["sources"].as_array().unwrap().clone();
    let watched = day["sources"].as_array().unwrap();
    assert_eq!(watched.len(), sources.len());
    for (watched, source) in watched.iter().zip(&sources) {
        assert_eq!(watched["name"], source["name"]);
        let worst = watched["worst"].as_array().unwrap().last().unwrap();
        assert!(worst.is_string(), "{watched}");
    }
    let page = service.get("/");
    assert!(page.contains("<b>bulk</b><span>70.0 kB in "), "{page}");
    let picture = "aria-label=\"seeds: ";
    assert!(page.contains(picture), "{page}");
}

/// The document that chromium makes of a page, and what it logs.
fn in_browser(folder: &super::common::Folder, address: &str, more: &[&str]) -> (String, String) {
    let profile = format!("--user-data-dir={}", folder.path("profile").display());
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .args(["--enable-logging=stderr", "--window-size=800,900", &profile])
        .args(more)
        .arg(address)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

/// A page of the test around the page of the service, which is as wide as a phone. It says what the browser shows.
const PHONE: &str = r#"<!DOCTYPE html><iframe src="page.html" style="width:360px;height:640px;border:0"></iframe><script>
onload = () => {
  const frame = document.querySelector("iframe"), page = frame.contentDocument;
  const fits = page.documentElement.scrollWidth <= frame.contentWindow.innerWidth, style = frame.contentWindow.getComputedStyle;
  const wide = [...page.querySelectorAll("svg")].every((one) => one.getBoundingClientRect().width > 300);
  const low = [...page.querySelectorAll("td,p,li,figcaption")].every((one) => parseFloat(style(one).fontSize) >= 16);
  const bar = page.querySelector("path"), height = bar.getBoundingClientRect().height;
  const fetched = frame.contentWindow.performance.getEntriesByType("resource").length;
  document.body.textContent = JSON.stringify([fits, wide, low, height > 20, style(bar).fill, fetched,
    page.querySelectorAll("svg").length > 5, page.querySelector("li").textContent]);
};
</script>"#;

#[test]
fn a_browser_shows_the_page_as_wide_as_a_phone_with_its_pictures_and_without_a_fault() {
    if !is_installed("chromium") {
        return;
    }
    let web = free_port();
    let service = Service::start(&format!(
        "[web]\nlisten = [\"web.sock\", \"127.0.0.1:{web}\"]\n[egd]\nlisten = [\"/nowhere/<b onclick=x>.sock\"]\n"
    ));
    draw_a_day(&service);
    let (page, log) = in_browser(&service.folder, &format!("http://127.0.0.1:{web}/"), &[]);
    // A browser says there what the policy refused.
    assert!(!log.contains("CONSOLE"), "{log}");
    assert!(page.contains("<b>bulk</b><span>70.0 kB in "), "{page}");
    let status = wellspringd()
        .args(["status", "--html", "--config"])
        .arg(service.folder.path("wellspring.toml"))
        .output()
        .unwrap();
    fs::write(service.folder.path("page.html"), status.stdout).unwrap();
    let phone = service.folder.path("phone.html");
    fs::write(&phone, PHONE).unwrap();
    let address = format!("file://{}", phone.display());
    let (shown, log) = in_browser(
        &service.folder,
        &address,
        &["--allow-file-access-from-files"],
    );
    let expected = "[true,true,true,true,\"rgb(51, 119, 170)\",0,true,\"egd at /nowhere/&lt;b onclick=x&gt;.sock is not open";
    assert!(shown.contains(expected), "{shown}{log}");
}

#[test]
fn an_order_changes_the_page_and_the_services_own_engine() {
    let service = Service::start("");
    let path = service.folder.path("run/generation");
    let before = current(&path).unwrap();
    let generation = service.status()["generation"].as_u64().unwrap();
    service.signal("-USR1");
    service.wait_for_log("an operator's order (SIGUSR1): the generation page changed");
    assert_ne!(current(&path).unwrap(), before);
    assert!(service.status()["generation"].as_u64().unwrap() > generation);
    bump(&path).unwrap();
    service.wait_for_log("another process changed the generation page");
    let notices = service.status()["notices"].to_string();
    assert!(
        notices.contains("SIGUSR1") && notices.contains("another process"),
        "{notices}"
    );
}

#[test]
fn a_container_sees_the_page_by_one_bind_mount() {
    if !is_root() || !is_installed("unshare") {
        return;
    }
    let service = Service::start("");
    let page = service.folder.path("run/generation");
    let inside = service.folder.path("container-generation");
    fs::write(&inside, "").unwrap();
    // Another mount namespace, with the page read-only in another place: its word changes when the service says so.
    let script = format!(
        "mount --bind {0} {1} && mount -o remount,bind,ro {1} && od -An -tx8 -j104 -N8 {1} && kill -USR1 {2} && \
         i=0; first=$(od -An -tx8 -j104 -N8 {1}); \
         while [ \"$(od -An -tx8 -j104 -N8 {1})\" = \"$first\" ] && [ $i -lt 3000 ]; do i=$((i+1)); \
         kill -USR1 {2}; sleep 0.01; done; od -An -tx8 -j104 -N8 {1}",
        quoted(&page),
        quoted(&inside),
        service.child.id()
    );
    let output = Command::new("unshare")
        .args(["-m", "sh", "-c", &script])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    let words: Vec<&str> = said.split_whitespace().collect();
    assert_eq!(words.len(), 2, "{said}");
    assert_ne!(words[0], words[1]);
    assert_eq!(
        fs::read(&inside).unwrap(),
        b"",
        "the bind mount was the container's alone"
    );
}

#[test]
fn an_order_by_the_socket_is_taken_from_the_pages_owner_and_refused_to_another_user() {
    let service = Service::start("");
    let (page, socket) = (
        service.folder.path("run/generation"),
        service.folder.path("run/bulk.sock"),
    );
    let mut client = Client::connect(&socket, PATIENCE).unwrap();
    let before = current(&page).unwrap();
    client.bump_generation(&[]).unwrap();
    let after = current(&page).unwrap();
    assert_ne!(before, after, "the page changes before the answer");
    service.wait_for_log("an order by the bulk protocol, of ");
    client.fill(&mut [0; 32]).unwrap();
    if !is_root() {
        return eprintln!("SKIPPED: only root can become another user");
    }
    let refused = std::thread::spawn(move || {
        become_unprivileged();
        let mut client = Client::connect(&socket, PATIENCE).unwrap();
        let refused = client.bump_generation(&[7; 32]);
        client.fill(&mut [0; 32]).unwrap();
        refused
    });
    assert_eq!(refused.join().unwrap(), Err(ClientError::Refused));
    assert_eq!(current(&page).unwrap(), after);
    assert!(!service.log().contains("another process changed"));
}
