//! Incremental parser of server-sent events, independent of the chunking.
//!
//! Follows the WHATWG HTML standard, section "Interpreting an event stream". `id` and `retry` are ignored: they serve
//! reconnection, and a chat answer is never resumed.

use std::collections::VecDeque;

use bytes::Bytes;
use bytestring::ByteString;

/// One dispatched event. Its texts are slices of the received bytes if they arrived in one chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// Event type; `message` unless the stream names another.
    pub kind: ByteString,
    /// Data lines, joined by LF.
    pub data: ByteString,
}

/// An event exceeded the parser's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is larger than {limit} bytes")]
pub struct EventTooLarge {
    /// The limit in bytes.
    pub limit: usize,
}

/// Maximum size of a provider's event, in bytes.
pub const MAX_EVENT_BYTES: usize = 1024 * 1024;

const BOM: &[u8] = &[0xEF, 0xBB, 0xBF];

/// Incremental parser. Lines end in LF, CR or CRLF. Text is decoded line by line; as no line end can be inside a UTF-8
/// character, a character may be split between chunks anywhere.
///
/// A line contained in one chunk is read in place; only a line cut by the end of a chunk is copied.
#[derive(Debug)]
pub struct SseParser {
    limit: usize,
    /// Beginning of an incomplete line.
    line: Vec<u8>,
    /// The last byte was CR: an LF that follows belongs to it.
    after_cr: bool,
    first_line: bool,
    kind: Option<ByteString>,
    data: Data,
}

/// Data of the current event.
#[derive(Debug, Default)]
enum Data {
    /// No `data` field was seen, which differs from empty data.
    #[default]
    None,
    One(ByteString),
    Lines(String),
}

impl Data {
    fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::One(line) => line.len(),
            Self::Lines(lines) => lines.len(),
        }
    }

    fn push(&mut self, line: ByteString) {
        let mut lines = match std::mem::take(self) {
            Self::None => {
                *self = Self::One(line);
                return;
            }
            Self::One(first) => String::from(&*first),
            Self::Lines(lines) => lines,
        };
        lines.push('\n');
        lines.push_str(&line);
        *self = Self::Lines(lines);
    }

    fn take(&mut self) -> Option<ByteString> {
        match std::mem::take(self) {
            Self::None => None,
            Self::One(line) => Some(line),
            Self::Lines(lines) => Some(lines.into()),
        }
    }
}

impl Default for SseParser {
    fn default() -> Self {
        Self::new(MAX_EVENT_BYTES)
    }
}

impl SseParser {
    /// Creates a parser; `limit` is the maximum size of an event in bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, line: Vec::new(), after_cr: false, first_line: true, kind: None, data: Data::None }
    }

    /// Parses the next bytes and appends completed events. The parser must not be used after an error.
    pub fn push(&mut self, chunk: &Bytes, events: &mut VecDeque<SseEvent>) -> Result<(), EventTooLarge> {
        let mut rest: &[u8] = chunk;
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = rest.iter().position(|b| matches!(b, b'\n' | b'\r')) {
            let (head, tail) = rest.split_at(end);
            self.end_line(head, chunk, events)?;
            rest = match tail {
                [b'\r', b'\n', tail @ ..] | [b'\n', tail @ ..] => tail,
                [b'\r'] => {
                    self.after_cr = true;
                    &[]
                }
                [_, tail @ ..] => tail,
                [] => &[],
            };
        }
        self.check(rest)?;
        self.line.extend_from_slice(rest);
        Ok(())
    }

    fn check(&self, more: &[u8]) -> Result<(), EventTooLarge> {
        if self.data.len() + self.line.len() + more.len() > self.limit {
            return Err(EventTooLarge { limit: self.limit });
        }
        Ok(())
    }

    /// `end` is the line, or its missing rest; it lies in `chunk`.
    fn end_line(&mut self, end: &[u8], chunk: &Bytes, events: &mut VecDeque<SseEvent>) -> Result<(), EventTooLarge> {
        self.check(end)?;
        if self.line.is_empty() {
            self.whole_line(end, Some(chunk), events);
        } else {
            let mut line = std::mem::take(&mut self.line);
            line.extend_from_slice(end);
            self.whole_line(&line, None, events);
            // Returns the buffer, so that a stream needs one allocation and not one per line.
            line.clear();
            self.line = line;
        }
        Ok(())
    }

    fn whole_line(&mut self, mut line: &[u8], within: Option<&Bytes>, events: &mut VecDeque<SseEvent>) {
        if std::mem::take(&mut self.first_line) {
            line = line.strip_prefix(BOM).unwrap_or(line);
        }
        if line.is_empty() {
            self.dispatch(events);
        } else {
            self.field(line, within);
        }
    }

    fn field(&mut self, line: &[u8], within: Option<&Bytes>) {
        let (name, value) = match line.iter().position(|b| *b == b':') {
            Some(0) => return,
            Some(colon) => {
                let (name, value) = line.split_at(colon);
                let value = value.strip_prefix(b":").unwrap_or(value);
                (name, value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &[][..]),
        };
        match name {
            b"data" => self.data.push(text(value, within)),
            b"event" => self.kind = Some(text(value, within)).filter(|kind| !kind.is_empty()),
            _ => {}
        }
    }

    fn dispatch(&mut self, events: &mut VecDeque<SseEvent>) {
        let kind = self.kind.take();
        if let Some(data) = self.data.take() {
            let kind = kind.unwrap_or(const { ByteString::from_static("message") });
            events.push_back(SseEvent { kind, data });
        }
    }
}

/// Returns a slice of the containing chunk, or a copy if there is none or it is not UTF-8.
fn text(value: &[u8], within: Option<&Bytes>) -> ByteString {
    within
        .and_then(|chunk| ByteString::try_from(chunk.slice_ref(value)).ok())
        .unwrap_or_else(|| String::from_utf8_lossy(value).into_owned().into())
}
