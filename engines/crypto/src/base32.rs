//! Base32 of RFC 4648.

const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// Returns base32 text with padding.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(5) {
        let mut group = [0; 8];
        group.iter_mut().skip(3).zip(chunk).for_each(|(to, from)| *to = *from);
        let value = u64::from_be_bytes(group);
        let letters = (chunk.len() * 8).div_ceil(5);
        for at in 0..8 {
            let index = (value >> (35 - 5 * at)) & 31;
            let letter = ALPHABET.get(index as usize).copied().unwrap_or_default();
            text.push(if at < letters { char::from(letter) } else { '=' });
        }
    }
    text
}

/// Reads base32 text of upper case, with or without padding; `None` if it is none.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=');
    if matches!(text.len() % 8, 1 | 3 | 6) {
        return None;
    }
    let (mut bytes, mut value, mut bits) = (Vec::new(), 0_u32, 0);
    for letter in text.bytes() {
        let index = ALPHABET.iter().position(|known| *known == letter)?;
        value = (value << 5) | index as u32;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            bytes.push((value >> bits) as u8);
            value &= (1 << bits) - 1;
        }
    }
    // Bits that remain must be zero: else two texts would be the same bytes.
    (value == 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4648, section 10.
    #[test]
    fn text_is_that_of_the_standard() {
        let known = ["", "MY======", "MZXQ====", "MZXW6===", "MZXW6YQ=", "MZXW6YTB", "MZXW6YTBOI======"];
        for (length, text) in known.iter().enumerate() {
            assert_eq!(encode(&b"foobar"[..length]), *text);
            assert_eq!(decode(text).as_deref(), Some(&b"foobar"[..length]));
        }
        for wrong in ["A", "MZ", "M1", "my"] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }
}
