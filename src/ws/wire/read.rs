//! Parses the frames of a client from bytes as they arrive, with limits checked at the header. Pure.

use bytes::{Buf, Bytes, BytesMut};

use super::write::{CLOSE, PONG, TEXT};
use crate::ws::Close;

const CONTINUATION: u8 = 0;
const BINARY: u8 = 2;
const PING: u8 = 9;
/// Longest payload of a control frame (RFC 6455, section 5.5).
const CONTROL_LIMIT: usize = 125;

/// A received message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inbound {
    /// A whole text message.
    Text(String),
    Ping(Bytes),
    /// A pong, or a fragment of an incomplete message: it needs no answer, but is counted.
    Other,
    /// The client closes with this code.
    Closed(u16),
}

/// Assembles messages. After an error it reads nothing more.
#[derive(Debug)]
pub struct Reader {
    buffer: BytesMut,
    /// The fragments received so far.
    pieces: Option<BytesMut>,
    /// Largest message, in bytes.
    limit: usize,
    broken: bool,
}

struct Header {
    last: bool,
    opcode: u8,
    length: usize,
    mask: [u8; 4],
    /// Takes the bytes to parse.
    size: usize,
}

impl Reader {
    pub fn new(limit: usize) -> Self {
        Self { buffer: BytesMut::new(), pieces: None, limit, broken: false }
    }

    /// Returns whether there was an error: the bytes that follow are not read.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    pub fn feed(&mut self, bytes: &[u8]) {
        if !self.broken {
            self.buffer.extend_from_slice(bytes);
        }
    }

    /// Returns the next complete message.
    ///
    /// # Errors
    /// The reason to close the connection.
    pub fn next_message(&mut self) -> Result<Option<Inbound>, Close> {
        if self.broken {
            return Ok(None);
        }
        let read = self.read();
        if read.is_err() {
            self.broken = true;
            self.buffer = BytesMut::new();
            self.pieces = None;
        } else if self.buffer.is_empty() {
            // Buffers are freed, because thousands of sockets are idle.
            self.buffer = BytesMut::new();
        }
        read
    }

    fn read(&mut self) -> Result<Option<Inbound>, Close> {
        let Some(header) = self.header()? else { return Ok(None) };
        if self.buffer.len() < header.size + header.length {
            return Ok(None);
        }
        self.buffer.advance(header.size);
        let mut payload = self.buffer.split_to(header.length);
        for (byte, mask) in payload.iter_mut().zip(header.mask.iter().cycle()) {
            *byte ^= mask;
        }
        match header.opcode {
            PING => Ok(Some(Inbound::Ping(payload.freeze()))),
            PONG => Ok(Some(Inbound::Other)),
            CLOSE => closed(&payload).map(Some),
            _ => self.piece(&header, payload).map(Some),
        }
    }

    /// Parses the next frame header and rejects it before its payload arrives. `None` if it is incomplete.
    fn header(&self) -> Result<Option<Header>, Close> {
        let (Some(&first), Some(&second)) = (self.buffer.first(), self.buffer.get(1)) else { return Ok(None) };
        let (last, opcode) = (first & 0x80 != 0, first & 0x0f);
        let (masked, short) = (second & 0x80 != 0, second & 0x7f);
        if first & 0x70 != 0 || !masked {
            return Err(Close::Violation);
        }
        let (extended, size) = match short {
            126 => (self.buffer.get(2..4), 4),
            127 => (self.buffer.get(2..10), 10),
            _ => (self.buffer.get(2..2), 2),
        };
        let Some(extended) = extended else { return Ok(None) };
        let length = match short {
            126 | 127 => extended.iter().fold(0_u64, |length, byte| length << 8 | u64::from(*byte)),
            short => short.into(),
        };
        let length = usize::try_from(length).map_err(|_| Close::TooBig)?;
        match opcode {
            CONTINUATION if self.pieces.is_none() => return Err(Close::Violation),
            TEXT if self.pieces.is_some() => return Err(Close::Violation),
            CONTINUATION | TEXT => {}
            BINARY => return Err(Close::ProtocolError),
            CLOSE | PING | PONG if last && length <= CONTROL_LIMIT => {}
            _ => return Err(Close::Violation),
        }
        if length.saturating_add(self.pieces.as_ref().map_or(0, BytesMut::len)) > self.limit.max(CONTROL_LIMIT) {
            return Err(Close::TooBig);
        }
        let mask = self.buffer.get(size..size + 4).and_then(|mask| <[u8; 4]>::try_from(mask).ok());
        Ok(mask.map(|mask| Header { last, opcode, length, mask, size: size + 4 }))
    }

    fn piece(&mut self, header: &Header, payload: BytesMut) -> Result<Inbound, Close> {
        let message = match self.pieces.take() {
            None => payload,
            Some(mut before) => {
                before.extend_from_slice(&payload);
                before
            }
        };
        if !header.last {
            self.pieces = Some(message);
            return Ok(Inbound::Other);
        }
        String::from_utf8(message.into()).map(Inbound::Text).map_err(|_| Close::BadText)
    }
}

/// Returns whether a code may be on the wire (RFC 6455, sections 5.5.1 and 7.4).
fn closed(payload: &[u8]) -> Result<Inbound, Close> {
    let Some((code, reason)) = payload.split_at_checked(2) else {
        return if payload.is_empty() { Ok(Inbound::Closed(1000)) } else { Err(Close::Violation) };
    };
    let code = code.iter().fold(0_u16, |code, byte| code << 8 | u16::from(*byte));
    if !matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999) {
        return Err(Close::Violation);
    }
    if std::str::from_utf8(reason).is_err() {
        return Err(Close::BadText);
    }
    Ok(Inbound::Closed(code))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMIT: usize = 64 << 10;

    /// Builds a frame as a client sends it (RFC 6455, section 5.2).
    fn sent(first: u8, payload: &[u8]) -> Vec<u8> {
        let mask = [0x37, 0xfa, 0x21, 0x3d];
        let mut out = vec![first];
        match payload.len() {
            short @ 0..=125 => out.push(0x80 | short as u8),
            middle @ 126..=0xffff => {
                out.push(0x80 | 126);
                out.extend_from_slice(&(middle as u16).to_be_bytes());
            }
            long => {
                out.push(0x80 | 127);
                out.extend_from_slice(&(long as u64).to_be_bytes());
            }
        }
        out.extend_from_slice(&mask);
        out.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        out
    }

    fn all(bytes: &[u8]) -> (Vec<Inbound>, Option<Close>) {
        let mut reader = Reader::new(LIMIT);
        reader.feed(bytes);
        let mut found = Vec::new();
        loop {
            match reader.next_message() {
                Ok(Some(one)) => found.push(one),
                Ok(None) => return (found, None),
                Err(close) => return (found, Some(close)),
            }
        }
    }

    /// RFC 6455, section 5.7: "a single-frame masked text message".
    #[test]
    fn the_rfcs_masked_hello_is_read() {
        let bytes = [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
        assert_eq!(all(&bytes), (vec![Inbound::Text("Hello".to_owned())], None));
    }

    #[test]
    fn violations_of_the_rfc_are_rejected_with_their_code() {
        let unmasked = vec![0x81, 0x01, b'x'];
        let too_long = [&[0x81, 0x80 | 127][..], &(1_u64 << 62).to_be_bytes()].concat();
        let bomb = [sent(0x01, &[b'x'; 40_000]), sent(0x80, &[b'x'; 40_000])].concat();
        for (name, bytes, close) in [
            ("no mask", unmasked, Close::Violation),
            ("a reserved bit", sent(0xc1, b"{}"), Close::Violation),
            ("an opcode of no meaning", sent(0x83, b""), Close::Violation),
            ("a ping in pieces", sent(0x09, b""), Close::Violation),
            ("a ping of 126 bytes", sent(0x89, &[0; 126]), Close::Violation),
            ("a continuation of nothing", sent(0x80, b"x"), Close::Violation),
            ("a text within a text", [sent(0x01, b"a"), sent(0x81, b"b")].concat(), Close::Violation),
            ("binary", sent(0x82, b"x"), Close::ProtocolError),
            ("one byte over", sent(0x81, &[b'x'; LIMIT + 1]), Close::TooBig),
            ("a length that nobody sends, refused by its header alone", too_long, Close::TooBig),
            ("pieces over the limit together", bomb, Close::TooBig),
            ("half a character", sent(0x81, &[0xce]), Close::BadText),
            ("a surrogate", sent(0x81, &[0xed, 0xa0, 0x80]), Close::BadText),
            ("close 1005", sent(0x88, &1005_u16.to_be_bytes()), Close::Violation),
            ("close of one byte", sent(0x88, &[3]), Close::Violation),
            ("a reason that is no text", sent(0x88, &[3, 0xe8, 0xff]), Close::BadText),
        ] {
            assert_eq!(all(&bytes).1, Some(close), "{name}");
        }
    }

    #[test]
    fn a_message_of_exactly_the_limit_is_accepted() {
        let (found, close) = all(&sent(0x81, &[b'x'; LIMIT]));
        assert_eq!((found.len(), close), (1, None));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// However a message is split into frames and the frames into reads, it is returned whole, with pings in
        /// between.
        #[test]
        fn the_result_does_not_depend_on_how_frames_and_reads_are_split(text in "\\PC{0,300}", frames in 1_usize..6, read in 1_usize..50) {
            let size = (text.len() / frames).max(1);
            let pieces: Vec<&[u8]> = if text.is_empty() { vec![b""] } else { text.as_bytes().chunks(size).collect() };
            let mut bytes = Vec::new();
            for (index, piece) in pieces.iter().enumerate() {
                let opcode = if index == 0 { TEXT } else { CONTINUATION };
                let last = if index + 1 == pieces.len() { 0x80 } else { 0 };
                bytes.extend(sent(last | opcode, piece));
                bytes.extend(sent(0x89, b"p"));
            }
            let mut reader = Reader::new(LIMIT);
            let mut found = Vec::new();
            for chunk in bytes.chunks(read) {
                reader.feed(chunk);
                while let Some(one) = reader.next_message().unwrap() {
                    found.push(one);
                }
            }
            let texts: Vec<_> = found.iter().filter(|one| matches!(one, Inbound::Text(_))).collect();
            let whole = Inbound::Text(text.clone());
            prop_assert_eq!(texts, vec![&whole]);
            prop_assert_eq!(found.iter().filter(|one| matches!(one, Inbound::Ping(_))).count(), pieces.len());
        }

        #[test]
        fn no_input_makes_the_reader_buffer_more_than_a_message(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let mut reader = Reader::new(128);
            reader.feed(&bytes);
            while let Ok(Some(_)) = reader.next_message() {}
            prop_assert!(reader.pieces.as_ref().map_or(0, BytesMut::len) <= 128);
        }
    }
}
