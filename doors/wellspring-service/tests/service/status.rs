use super::common::{PATIENCE, Service, is_installed, is_long, wellspringd};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};

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

#[test]
fn without_a_service_status_says_so_in_a_line() {
    let folder = super::common::Folder::new();
    let config = folder.configure("");
    let output = wellspringd()
        .arg("status")
        .arg("--config")
        .arg(&config)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.starts_with("wellspringd: no service answers: ") && said.lines().count() == 1,
        "{said}"
    );
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
    let text = format!(
        "scrape_configs:\n- job_name: wellspring\n  scrape_interval: 1s\n  static_configs:\n  - targets: ['127.0.0.1:{web}']\n"
    );
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
fn the_page_is_the_text_of_the_status_and_brings_no_script() {
    let service = Service::start("[egd]\nlisten = [\"/nowhere/x.sock\"]\n");
    let mut stream = service.socket("web.sock");
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, page) = answer.split_once("\r\n\r\n").unwrap();
    assert!(
        head.contains("Content-Type: text/plain; charset=utf-8"),
        "{head}"
    );
    assert!(head.contains("X-Content-Type-Options: nosniff"), "{head}");
    assert!(
        head.contains("Content-Security-Policy: default-src 'none'; frame-ancestors 'none'"),
        "{head}"
    );
    assert!(
        page.starts_with("! egd at /nowhere/x.sock is not open"),
        "{page}"
    );
    for words in ["ready", "web", "jitter", "bytes in pools", "user  bytes"] {
        assert!(page.contains(words), "no '{words}': {page}");
    }
}
