use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// Answers each connection with this, and counts them.
fn server(answer: impl Fn(SocketAddr) -> Vec<u8> + Send + 'static) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            counted.fetch_add(1, Ordering::SeqCst);
            let mut head = [0; 4_096];
            drop(stream.read(&mut head));
            drop(stream.write_all(&answer(address)));
        }
    });
    (address, connections)
}

fn picture() -> Vec<u8> {
    let body = b"\x89PNG\r\n\x1a\n0123456789";
    [format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes(), body].concat()
}

fn redirect(to: &str) -> Vec<u8> {
    format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n").into_bytes()
}

/// A fetcher whose names resolve to these, one list after another.
fn fetcher(allowed: &[SocketAddr], answers: Vec<Vec<SocketAddr>>) -> (Fetcher, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let lookup = move |_: String, _| {
        let nth = counted.fetch_add(1, Ordering::SeqCst);
        let answer = answers.get(nth).cloned().unwrap_or_default();
        std::future::ready(Ok(answer)).boxed()
    };
    (Fetcher { lookup: Arc::new(lookup), ..Fetcher::new(allowed) }, asked)
}

#[tokio::test]
async fn a_name_is_resolved_once_and_the_connection_goes_to_the_address_that_was_checked() {
    let (outer, reached) = server(|_| picture());
    let (inner, silent) = server(|_| picture());
    let (fetcher, asked) = fetcher(&[outer], vec![vec![outer], vec![inner]]);
    let fetched = fetcher.fetch(&format!("http://rebinding.test:{}/a.png", outer.port()), "k").await;
    assert_eq!(fetched, Ok(b"\x89PNG\r\n\x1a\n0123456789".to_vec()));
    assert_eq!([&reached, &silent, &asked].map(|count| count.load(Ordering::SeqCst)), [1, 0, 1]);
}

#[tokio::test]
async fn a_name_with_one_address_that_is_not_public_is_not_fetched() {
    let (inner, silent) = server(|_| picture());
    let public: SocketAddr = "93.184.216.34:80".parse().unwrap();
    let loopback = SocketAddr::new(inner.ip(), 80);
    let (fetcher, _) = fetcher(&[], vec![vec![public, loopback]]);
    let refused = fetcher.fetch("http://mixed.test/a.png", "k").await;
    assert_eq!(refused, Err(FetchError::NotAllowed(Denied::Address)));
    assert_eq!(silent.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn each_redirect_is_checked_from_the_start() {
    let (inner, silent) = server(|_| picture());
    let inward = format!("http://{inner}/secret.png");
    let (outer, _) = server(move |_| redirect(&inward));
    let refused = Fetcher::new(&[outer]).fetch(&format!("http://{outer}/a.png"), "k").await;
    assert_eq!(refused, Err(FetchError::NotAllowed(Denied::Port)));
    let (round, count) = server(|own| redirect(&format!("http://{own}/again")));
    let refused = Fetcher::new(&[round]).fetch(&format!("http://{round}/"), "k").await;
    assert_eq!((refused, count.load(Ordering::SeqCst)), (Err(FetchError::Failed(Reason::Redirects)), 4));
    assert_eq!(silent.load(Ordering::SeqCst), 0);
    let https = Url::parse("https://example.org/a").unwrap();
    assert_eq!(redirected(&https, "http://example.org/a"), Err(FetchError::NotAllowed(Denied::Scheme)));
    assert_eq!(redirected(&https, "//example.com/b").unwrap().as_str(), "https://example.com/b");
}

#[tokio::test]
async fn every_spelling_of_an_inner_address_is_that_address() {
    let fetcher = Fetcher::new(&[]);
    for host in [
        "127.0.0.1",
        "127.1",
        "0177.0.0.1",
        "0x7f.0.0.1",
        "0x7f000001",
        "2130706433",
        "017700000001",
        "127.0.0.1.",
        "\u{ff11}27.0.0.1",
        "127。0。0。1",
        "0",
        "169.254.169.254",
        "2852039166",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "[2001:0:7f00:1::]",
        "[fe80::1]",
        "[fd00:ec2::254]",
        "localhost",
    ] {
        let refused = fetcher.fetch(&format!("http://{host}/a.png"), "k").await;
        assert_eq!(refused, Err(FetchError::NotAllowed(Denied::Address)), "{host}");
    }
}

#[tokio::test]
async fn the_form_of_a_url_is_judged_before_its_name() {
    let (fetcher, asked) = fetcher(&[], vec![]);
    for (url, denied) in [
        ("ftp://example.org/a", Denied::Scheme),
        ("file:///etc/passwd", Denied::Scheme),
        ("gopher://example.org/", Denied::Scheme),
        ("http://me@example.org/a", Denied::UserInfo),
        ("http://:secret@example.org/a", Denied::UserInfo),
        ("http://", Denied::Form),
        (&format!("http://example.org/{}", "a".repeat(2_048)), Denied::Form),
    ] {
        assert_eq!(fetcher.fetch(url, "k").await, Err(FetchError::NotAllowed(denied)), "{url}");
    }
    assert_eq!(asked.load(Ordering::SeqCst), 0);
    assert_eq!(fetcher.fetch("http://nowhere.test/", "k").await, Err(FetchError::Failed(Reason::Dns)));
}

#[test]
fn an_error_says_a_word_and_no_address() {
    let error = FetchError::NotAllowed(Denied::Address).at(&["body", "image"]);
    assert_eq!((error.code, error.fields.len()), (Some("url_not_allowed"), 1));
    let error = FetchError::Failed(Reason::Tls).at(&["body", "image"]);
    assert_eq!(error.code, Some("url_failed"));
    assert_eq!(error.details.unwrap()["reason"], "tls");
}
