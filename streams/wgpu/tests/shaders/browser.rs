//! The shader's functions in a browser against wellspring-pseudo: headless Chromium has a device for WebGPU on any CPU.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use wellspring_pseudo::{Algorithm, Elements};
use wellspring_wgpu::{WGSL, key_words};

/// The numbers that `own.wgsl` makes: elements 7 2^32 to 7 2^32 + 1023, each as a word of 64 bits, one of 32, and a float.
fn expected() -> Vec<u32> {
    let elements = Elements::new(Algorithm::ChaCha8, 2026, &[3, 0, 17]).unwrap();
    let first = 7u64 << 32;
    let (mut pairs, mut words) = ([0; 8 * 1024], [0; 4 * 1024]);
    elements.bytes(8 * u128::from(first), &mut pairs);
    elements.bytes(4 * u128::from(first), &mut words);
    let mut floats = [0f32; 1024];
    elements.uniform(first, &mut floats).unwrap();
    let pairs = pairs.as_chunks::<4>().0.as_chunks::<2>().0;
    let numbers = pairs.iter().zip(words.as_chunks::<4>().0).zip(floats);
    numbers
        .flat_map(|((&[low, high], &word), float)| {
            [low, high, word, float.to_le_bytes()].map(u32::from_le_bytes)
        })
        .collect()
}

/// Answers one request, and returns the body of a POST.
fn serve(stream: TcpStream, page: &str) -> std::io::Result<Option<String>> {
    let mut reader = BufReader::new(stream);
    let mut request = String::new();
    reader.read_line(&mut request)?;
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let header = header.trim_end().to_ascii_lowercase();
        if let Some(text) = header.strip_prefix("content-length:") {
            length = text.trim().parse().unwrap();
        }
        if header.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close";
    let answer = format!("{head}\r\nContent-Length: {}\r\n\r\n{page}", page.len());
    reader.into_inner().write_all(answer.as_bytes())?;
    Ok((request.starts_with("POST")).then(|| String::from_utf8(body).unwrap()))
}

#[test]
fn functions_in_a_browser_give_the_numbers_of_the_library() {
    let shader = format!("{WGSL}{}", include_str!("../own.wgsl"));
    let page = format!(
        "<!doctype html><body><script type=module>
        onerror = (message) => fetch('/', {{ method: 'POST', body: message }});
        const code = String.raw`{}`, key = {:?};
        {}</script>",
        shader.replace('`', ""),
        key_words(2026, &[3, 0, 17]),
        include_str!("../page.js")
    );
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    // A new profile: Chromium ends if a container of another name has left the profile locked.
    let profile = Path::new(env!("CARGO_TARGET_TMPDIR")).join("chromium");
    let _ = std::fs::remove_dir_all(&profile);
    // Chromium's own sandbox does not run as root. The page loads nothing but itself.
    let browser = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--enable-unsafe-webgpu"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(["--remote-debugging-port=0", &address])
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut browser) = browser else {
        return eprintln!("SKIPPED: chromium is not installed");
    };
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        // Chromium also opens connections that it does not use: each has its own thread.
        for stream in listener.incoming().flatten() {
            let (sender, page) = (sender.clone(), page.clone());
            std::thread::spawn(move || {
                if let Ok(Some(text)) = serve(stream, &page) {
                    let _ = sender.send(text);
                }
            });
        }
    });
    let made = receiver.recv_timeout(Duration::from_secs(300));
    browser.kill().unwrap();
    browser.wait().unwrap();
    let made = made.expect("the browser sends its numbers");
    // The error of a property of null.
    if made.contains("'requestAdapter'") || made.contains("'requestDevice'") {
        return eprintln!("SKIPPED: chromium has no device for WebGPU: {made}");
    }
    let numbers: Result<Vec<u32>, _> = made.split(' ').map(str::parse).collect();
    assert_eq!(numbers.expect(&made), expected());
}
