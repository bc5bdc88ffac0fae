//! Builds the frames that a server sends. They are not masked, so all clients get the same bytes. Pure.

use bytes::{BufMut, Bytes, BytesMut};

const FIN: u8 = 0x80;
pub(super) const TEXT: u8 = 1;
pub(super) const CLOSE: u8 = 8;
pub(super) const PONG: u8 = 10;

/// Builds a whole text frame.
pub fn framed(text: &[u8]) -> Bytes {
    frame(TEXT, text)
}

/// Builds the answer to a ping.
pub fn pong(payload: &[u8]) -> Bytes {
    frame(PONG, payload)
}

/// Builds a close frame. The server's reasons are far below the limit of 123 bytes.
pub fn close(code: u16, reason: &str) -> Bytes {
    let mut payload = BytesMut::with_capacity(2 + reason.len());
    payload.put_u16(code);
    payload.put_slice(reason.as_bytes());
    frame(CLOSE, &payload)
}

fn frame(opcode: u8, payload: &[u8]) -> Bytes {
    let mut out = BytesMut::with_capacity(10 + payload.len());
    put_header(opcode, payload.len(), &mut out);
    out.put_slice(payload);
    out.freeze()
}

fn put_header(opcode: u8, length: usize, out: &mut BytesMut) {
    out.put_u8(FIN | opcode);
    match (u8::try_from(length), u16::try_from(length)) {
        (Ok(short @ 0..=125), _) => out.put_u8(short),
        (_, Ok(middle)) => {
            out.put_u8(126);
            out.put_u16(middle);
        }
        _ => {
            out.put_u8(127);
            out.put_u64(length as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6455, section 5.7: "a single-frame unmasked text message", and the lengths that follow it.
    #[test]
    fn frames_are_those_of_the_rfcs_examples() {
        assert_eq!(&framed(b"Hello")[..], [0x81, 0x05, 0x48, 0x65, 0x6c, 0x6c, 0x6f]);
        let header =
            |length: usize| framed(&vec![b'x'; length])[..].split(|byte| *byte == b'x').next().unwrap().to_vec();
        assert_eq!(header(256), [0x81, 0x7e, 0x01, 0x00]);
        assert_eq!(header(65536), [0x81, 0x7f, 0, 0, 0, 0, 0, 1, 0, 0]);
        assert_eq!(header(125), [0x81, 125]);
        assert_eq!(header(126), [0x81, 126, 0, 126]);
        assert_eq!(&close(1012, "x")[..], [0x88, 3, 0x03, 0xf4, b'x']);
    }
}
