//! A parser of server-sent events: bytes in, events out, whatever the chunking.
//!
//! Follows the WHATWG HTML standard, section "Interpreting an event stream". `id` and `retry` are read over: they
//! serve reconnection, and a chat answer is never resumed.

use std::collections::VecDeque;

/// One dispatched event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// `message` unless the stream named another.
    pub kind: String,
    pub data: String,
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
#[derive(Debug)]
pub struct SseParser {
    limit: usize,
    line: Vec<u8>,
    /// The last byte ended a line as CR: an LF that follows belongs to it.
    after_cr: bool,
    first_line: bool,
    kind: String,
    data: String,
    /// A `data` field was seen; tells an event of empty data from no event.
    has_data: bool,
}

impl Default for SseParser {
    fn default() -> Self {
        Self::new(MAX_EVENT_BYTES)
    }
}

impl SseParser {
    /// `limit`: the largest event in bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            after_cr: false,
            first_line: true,
            kind: String::new(),
            data: String::new(),
            has_data: false,
        }
    }

    /// Takes the next bytes and appends the events that they complete. After an error the parser is of no more use.
    pub fn push(&mut self, bytes: &[u8], events: &mut VecDeque<SseEvent>) -> Result<(), EventTooLarge> {
        let mut rest = bytes;
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = rest.iter().position(|b| matches!(b, b'\n' | b'\r')) {
            let (head, tail) = rest.split_at(end);
            self.extend_line(head)?;
            self.end_line(events);
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
        self.extend_line(rest)
    }

    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), EventTooLarge> {
        if self.data.len() + self.line.len() + bytes.len() > self.limit {
            return Err(EventTooLarge { limit: self.limit });
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self, events: &mut VecDeque<SseEvent>) {
        let mut line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.first_line) && line.starts_with(BOM) {
            line.drain(..BOM.len());
        }
        if line.is_empty() {
            self.dispatch(events);
        } else {
            self.field(&line);
        }
        // Gives the buffer back, so that a stream needs one allocation and not one a line.
        line.clear();
        self.line = line;
    }

    fn field(&mut self, line: &[u8]) {
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
            b"data" => {
                if self.has_data {
                    self.data.push('\n');
                }
                self.has_data = true;
                self.data.push_str(&String::from_utf8_lossy(value));
            }
            b"event" => self.kind = String::from_utf8_lossy(value).into_owned(),
            _ => {}
        }
    }

    fn dispatch(&mut self, events: &mut VecDeque<SseEvent>) {
        let kind = std::mem::take(&mut self.kind);
        if std::mem::take(&mut self.has_data) {
            events.push_back(SseEvent {
                kind: if kind.is_empty() { "message".to_owned() } else { kind },
                data: std::mem::take(&mut self.data),
            });
        }
    }
}
