//! A web server of scripted answers, which counts its connections and keeps the heads of its requests.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::super::medical_images::pictures::grey;

pub struct Web {
    pub address: SocketAddr,
    connections: Arc<AtomicUsize>,
    heads: Arc<Mutex<Vec<String>>>,
    /// Bytes that the answer to `/endless` could be written.
    written: Arc<AtomicUsize>,
}

impl Web {
    /// Starts it; `inner` is where `/inwards` leads.
    pub fn start(inner: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let web = Self { address, connections: Arc::default(), heads: Arc::default(), written: Arc::default() };
        let (connections, heads, written) =
            (Arc::clone(&web.connections), Arc::clone(&web.heads), Arc::clone(&web.written));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                connections.fetch_add(1, Ordering::SeqCst);
                let (heads, written) = (Arc::clone(&heads), Arc::clone(&written));
                std::thread::spawn(move || drop(serve(stream, inner, &heads, &written)));
            }
        });
        web
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub fn last_head(&self) -> String {
        self.heads.lock().unwrap().last().cloned().unwrap_or_default()
    }

    pub fn written(&self) -> usize {
        self.written.load(Ordering::SeqCst)
    }
}

/// The picture at `/picture.png`.
pub fn picture() -> Vec<u8> {
    grey(&[&[10, 200, 10], &[200, 10, 200]])
}

fn whole(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    [format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{headers}\r\n", body.len()).as_bytes(), body].concat()
}

fn serve(
    mut stream: TcpStream,
    inner: SocketAddr,
    heads: &Mutex<Vec<String>>,
    written: &AtomicUsize,
) -> std::io::Result<()> {
    let mut head = Vec::new();
    let mut buffer = [0; 4_096];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut buffer)? {
            // Not HTTP, such as a TLS handshake that is refused below.
            _ if head.first() == Some(&0x16) => return stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n"),
            0 => return Ok(()),
            read => head.extend_from_slice(&buffer[..read]),
        }
        if head.first() == Some(&0x16) {
            return stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    heads.lock().unwrap().push(head);
    let redirect = |to: &str| whole("302 Found", &format!("Location: {to}\r\n"), b"");
    let answer = match path.as_str() {
        "/picture.png" => whole("200 OK", "Content-Type: text/plain\r\n", &picture()),
        "/moved" => redirect("/picture.png"),
        "/inwards" => redirect(&format!("http://{inner}/secret.png")),
        "/metadata" => redirect("http://169.254.169.254/latest/meta-data/"),
        "/octal" => redirect("http://0177.0.0.1/"),
        "/file" => redirect("file:///etc/passwd"),
        "/round" => redirect("/round"),
        "/nowhere" => whole("302 Found", "", b""),
        "/missing" => whole("404 Not Found", "", &picture()),
        "/html" => whole("200 OK", "Content-Type: image/png\r\n", b"<!doctype html><title>secret</title>"),
        "/short" => whole("200 OK", "", b"\x89PNG"),
        "/gzip" => whole("200 OK", "Content-Encoding: gzip\r\n", &picture()),
        "/declared" => b"HTTP/1.1 200 OK\r\nContent-Length: 20971521\r\n\r\n\x89PNG\r\n\x1a\n".to_vec(),
        "/silent" | "/stalled" => {
            if path == "/stalled" {
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4096\r\n\r\n\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR")?;
            }
            // Until the client leaves.
            while stream.read(&mut buffer)? > 0 {}
            return Ok(());
        }
        "/endless" | "/text" => {
            let begins: &[u8] = if path == "/text" { b"no picture at all" } else { b"\x89PNG\r\n\x1a\n" };
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
            stream.write_all(begins)?;
            loop {
                stream.write_all(&[0; 65_536])?;
                written.fetch_add(65_536, Ordering::SeqCst);
            }
        }
        _ => whole("404 Not Found", "", b""),
    };
    stream.write_all(&answer)
}
