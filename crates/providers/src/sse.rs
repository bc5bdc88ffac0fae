//! A parser of server-sent events: bytes in, events out, whatever the chunking.
//!
//! Follows the WHATWG HTML standard, section "Interpreting an event stream". `id` and `retry` are read over: they
//! serve reconnection, and a chat answer is never resumed.

use std::collections::VecDeque;

use bytes::Bytes;
use bytestring::ByteString;

/// One dispatched event. Its texts are slices of the received bytes wherever they came in one piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// `message` unless the stream named another.
    pub kind: ByteString,
    pub data: ByteString,
}

/// An event grew past the parser's bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is larger than {limit} bytes")]
pub struct EventTooLarge {
    pub limit: usize,
}

/// The largest event of a provider that is accepted, in bytes.
pub const MAX_EVENT_BYTES: usize = 1024 * 1024;

const BOM: &[u8] = &[0xEF, 0xBB, 0xBF];

/// Incremental parser. Lines end in LF, CR or CRLF; the text is decoded line by line, and as no line end can be inside
/// a UTF-8 character, a character may be split over chunks anywhere.
///
/// A line that came whole is read where it lies; only one that was cut by the end of a chunk is copied.
#[derive(Debug)]
pub struct SseParser {
    limit: usize,
    /// The beginning of a line whose end has not come yet.
    line: Vec<u8>,
    /// The last byte ended a line as CR: an LF that follows belongs to it.
    after_cr: bool,
    first_line: bool,
    kind: Option<ByteString>,
    data: Data,
}

/// The data of an event so far.
#[derive(Debug, Default)]
enum Data {
    /// No `data` field was seen; an event of empty data is another thing.
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
    /// `limit`: the largest event in bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, line: Vec::new(), after_cr: false, first_line: true, kind: None, data: Data::None }
    }

    /// Takes the next bytes and appends the events that they complete. After an error the parser is of no more use.
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

    /// `end` is the line, or what was missing of it; it lies in `chunk`.
    fn end_line(&mut self, end: &[u8], chunk: &Bytes, events: &mut VecDeque<SseEvent>) -> Result<(), EventTooLarge> {
        self.check(end)?;
        if self.line.is_empty() {
            self.whole_line(end, Some(chunk), events);
        } else {
            let mut line = std::mem::take(&mut self.line);
            line.extend_from_slice(end);
            self.whole_line(&line, None, events);
            // Gives the buffer back, so that a stream needs one allocation and not one a line.
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

/// A slice of the chunk that the value lies in, or a copy where it lies in none or is no UTF-8.
fn text(value: &[u8], within: Option<&Bytes>) -> ByteString {
    within
        .and_then(|chunk| ByteString::try_from(chunk.slice_ref(value)).ok())
        .unwrap_or_else(|| String::from_utf8_lossy(value).into_owned().into())
}
