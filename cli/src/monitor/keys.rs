//! Parses the bytes that a terminal sends for keys. Pure.

/// A key that the monitor uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    Up,
    Down,
    Enter,
    Tab,
    Backspace,
    Escape,
    /// Ctrl-C or Ctrl-D.
    Interrupt,
}

/// Parses one chunk of terminal input (ECMA-48 control sequences as xterm and VT100 send them). Incomplete characters are
/// ignored.
pub(super) fn read(bytes: &[u8]) -> Vec<Key> {
    let mut keys = Vec::new();
    let mut rest = bytes;
    while let Some((&first, after)) = rest.split_first() {
        let (key, left) = match first {
            0x1b => escape(after),
            b'\r' | b'\n' => (Some(Key::Enter), after),
            b'\t' => (Some(Key::Tab), after),
            0x7f | 0x08 => (Some(Key::Backspace), after),
            0x03 | 0x04 => (Some(Key::Interrupt), after),
            0x00..=0x1f => (None, after),
            _ => letter(rest),
        };
        keys.extend(key);
        rest = left;
    }
    keys
}

/// What follows an escape: a sequence, or nothing.
fn escape(after: &[u8]) -> (Option<Key>, &[u8]) {
    let Some((b'[' | b'O', sequence)) = after.split_first() else { return (Some(Key::Escape), after) };
    // Parameters, then a final byte from `@` to `~`.
    let end = sequence.iter().position(|byte| (0x40..=0x7e).contains(byte));
    let Some((last, left)) = end.and_then(|end| sequence.get(end..)).and_then(<[u8]>::split_first) else {
        return (None, &[]);
    };
    let key = match last {
        b'A' => Some(Key::Up),
        b'B' => Some(Key::Down),
        _ => None,
    };
    (key, left)
}

fn letter(bytes: &[u8]) -> (Option<Key>, &[u8]) {
    let length = match bytes.first() {
        Some(0xf0..) => 4,
        Some(0xe0..) => 3,
        Some(0xc0..) => 2,
        _ => 1,
    };
    let (one, left) = bytes.split_at_checked(length).unwrap_or((bytes, &[]));
    let letter = std::str::from_utf8(one).ok().and_then(|text| text.chars().next());
    (letter.map(Key::Char), left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_letters_and_controls() {
        assert_eq!(read(b"\x1b[A\x1b[B\x1bOA"), [Key::Up, Key::Down, Key::Up]);
        assert_eq!(
            read(b"pP\r\t\x7f\x03"),
            [Key::Char('p'), Key::Char('P'), Key::Enter, Key::Tab, Key::Backspace, Key::Interrupt]
        );
        assert_eq!(read("aä€😀".as_bytes()), ['a', 'ä', '€', '😀'].map(Key::Char));
        assert_eq!(read(b"\x1b"), [Key::Escape]);
        assert_eq!(read(b"\x1b[1;5Dx"), [Key::Char('x')], "a sequence that means nothing here");
        assert_eq!(read(b"\x1b["), [], "one that is cut off");
        assert_eq!(read(&[0xc3]), []);
    }
}
