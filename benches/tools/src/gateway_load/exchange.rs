//! One request and its response on a connection, with the times at which the parts of the response arrived.

use std::io::{Error, ErrorKind, Result};
use std::time::{Duration, Instant};

use memchr::memmem;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What was received, and when after the request was sent.
pub struct Received {
    pub status: u16,
    pub keep_alive: bool,
    pub bytes: u64,
    pub events: u64,
    pub first_byte: Duration,
    /// The first event with content.
    pub first_token: Option<Duration>,
    /// Times between two events.
    pub gaps: Vec<Duration>,
}

struct Head {
    status: u16,
    length: Option<usize>,
    chunked: bool,
    close: bool,
}

/// Sends a request and reads its whole response.
///
/// # Errors
/// `NotConnected` if the connection ends before the head; any other error says that the response is not complete.
pub async fn exchange(connection: &mut TcpStream, request: &[u8], stream: bool) -> Result<Received> {
    let sent = Instant::now();
    connection.write_all(request).await?;
    let mut buffer = vec![0; 32 * 1024];
    let mut raw = Vec::new();
    let head = loop {
        let count = connection.read(&mut buffer).await?;
        if count == 0 {
            return Err(Error::new(ErrorKind::NotConnected, "closed before the head"));
        }
        raw.extend_from_slice(&buffer[..count]);
        if let Some(head) = parse_head(&mut raw)? {
            break head;
        }
    };
    let mut body = Body { head: &head, raw, text: Vec::new(), rest_of_chunk: None };
    let mut events = Events { sent, scanned: 0, count: 0, first_token: None, last: None, gaps: Vec::new() };
    let mut first_byte = None;
    loop {
        let complete = body.decode()?;
        if !body.text.is_empty() && first_byte.is_none() {
            first_byte = Some(sent.elapsed());
        }
        if stream {
            events.scan(&body.text);
        }
        if complete {
            break;
        }
        let count = connection.read(&mut buffer).await?;
        if count == 0 {
            if head.chunked || head.length.is_some() {
                return Err(Error::new(ErrorKind::UnexpectedEof, "closed before the end of the body"));
            }
            break;
        }
        body.raw.extend_from_slice(&buffer[..count]);
    }
    Ok(Received {
        status: head.status,
        keep_alive: !head.close && (head.chunked || head.length.is_some()),
        bytes: body.text.len() as u64,
        events: events.count,
        first_byte: first_byte.unwrap_or_else(|| sent.elapsed()),
        first_token: events.first_token,
        gaps: events.gaps,
    })
}

/// Removes a complete head from the bytes received.
fn parse_head(raw: &mut Vec<u8>) -> Result<Option<Head>> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut response = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(length) = response.parse(raw).map_err(Error::other)? else { return Ok(None) };
    let mut head = Head { status: response.code.unwrap_or(0), length: None, chunked: false, close: false };
    for header in response.headers.iter() {
        let value = String::from_utf8_lossy(header.value).to_ascii_lowercase();
        match header.name.to_ascii_lowercase().as_str() {
            "content-length" => head.length = value.trim().parse().ok(),
            "transfer-encoding" => head.chunked = value.ends_with("chunked"),
            "connection" => head.close = value == "close",
            _ => {}
        }
    }
    raw.drain(..length);
    Ok(Some(head))
}

struct Body<'a> {
    head: &'a Head,
    /// Received, not decoded.
    raw: Vec<u8>,
    text: Vec<u8>,
    /// Bytes of the current chunk that are missing, with its line end; `None` before the line with its size.
    rest_of_chunk: Option<usize>,
}

impl Body<'_> {
    /// Decodes what was received; returns whether the body is complete.
    fn decode(&mut self) -> Result<bool> {
        if !self.head.chunked {
            self.text.append(&mut self.raw);
            return Ok(self.head.length.is_some_and(|length| self.text.len() >= length));
        }
        let mut at = 0;
        let complete = loop {
            let rest = &self.raw[at..];
            match self.rest_of_chunk {
                None => {
                    let Some(end) = memmem::find(rest, b"\r\n") else { break false };
                    let size = size_of_chunk(&rest[..end])?;
                    if size == 0 {
                        break rest.len() >= end + 4;
                    }
                    at += end + 2;
                    self.rest_of_chunk = Some(size + 2);
                }
                Some(missing) => {
                    let taken = missing.min(rest.len());
                    self.text.extend_from_slice(&rest[..taken.min(missing.saturating_sub(2))]);
                    at += taken;
                    self.rest_of_chunk = (taken < missing).then_some(missing - taken);
                    if taken < missing {
                        break false;
                    }
                }
            }
        };
        self.raw.drain(..at);
        Ok(complete)
    }
}

fn size_of_chunk(line: &[u8]) -> Result<usize> {
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default();
    let digits = std::str::from_utf8(digits).map_err(Error::other)?;
    usize::from_str_radix(digits.trim(), 16).map_err(Error::other)
}

struct Events {
    sent: Instant,
    scanned: usize,
    count: u64,
    first_token: Option<Duration>,
    last: Option<Instant>,
    gaps: Vec<Duration>,
}

impl Events {
    fn scan(&mut self, text: &[u8]) {
        let now = Instant::now();
        while let Some(length) = memmem::find(&text[self.scanned..], b"\n\n") {
            let event = &text[self.scanned..self.scanned + length];
            self.scanned += length + 2;
            if !event.starts_with(b"data:") && memmem::find(event, b"\ndata:").is_none() {
                continue;
            }
            self.count += 1;
            if self.first_token.is_none() && memmem::find(event, b"lorem").is_some() {
                self.first_token = Some(now - self.sent);
            }
            if let Some(last) = self.last.replace(now) {
                self.gaps.push(now - last);
            }
        }
    }
}
