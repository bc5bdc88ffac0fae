//! Hexadecimal text, and comparison in constant time.

/// Returns bytes as lower-case hexadecimal text.
pub fn encode(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads hexadecimal text of either case; `None` if it is none.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) || !text.is_ascii() {
        return None;
    }
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok().filter(|_| !text.contains('+')))
        .collect()
}

/// Compares without stopping at the first difference.
pub fn equal(one: &[u8], two: &[u8]) -> bool {
    let different = one.iter().zip(two).fold(0, |different, (a, b)| different | (a ^ b));
    one.len() == two.len() && std::hint::black_box(different) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_is_not_hexadecimal_is_refused() {
        assert_eq!(decode("00fF"), Some(vec![0, 255]));
        assert_eq!(decode(&encode(&[1, 171])), Some(vec![1, 171]));
        for text in ["0", "0g", "+1", "ä"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }

    #[test]
    fn only_equal_bytes_are_equal() {
        assert!(equal(b"abc", b"abc") && equal(b"", b""));
        assert!(!equal(b"abc", b"abd") && !equal(b"abc", b"ab"));
    }
}
