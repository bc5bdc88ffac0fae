//! Percent-encoding of RFC 3986.

/// Writes all bytes but unreserved characters as `%XX`.
pub fn encode(bytes: &[u8]) -> String {
    let write = |byte: &u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(*byte).to_string(),
        other => format!("%{other:02X}"),
    };
    bytes.iter().map(write).collect()
}

/// Reads percent-encoded text; `None` where `%` is not followed by two digits.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        if *first == b'%' {
            let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
            bytes.extend(crate::hex::decode(digits)?);
            rest = tail.get(2..)?;
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    Some(bytes)
}
