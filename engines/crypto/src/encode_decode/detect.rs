//! Which encoding a text has.

use muster_engine::wire::Words as _;

use super::{Candidate, Encoding, decode};

/// Encodings that are tried, the most distinctive first.
const TRIED: [Encoding; 9] = [
    Encoding::Percent,
    Encoding::Html,
    Encoding::QuotedPrintable,
    Encoding::Hex,
    Encoding::Base32,
    Encoding::Base64,
    Encoding::Base64Url,
    Encoding::Base58,
    Encoding::Ascii85,
];
/// Share of printable letters of a decoded text that is one.
const PRINTABLE: f64 = 0.9;
/// Shorter texts are words rather than encoded bytes.
const LEAST: usize = 4;
const PREVIEW: usize = 80;

/// Returns the likely encoding, and all that the text may have: those whose bytes are printable text first.
pub fn detect(text: &str) -> (Encoding, Vec<Candidate>) {
    let mut found: Vec<(Encoding, f64, Candidate)> = Vec::new();
    for encoding in TRIED {
        let Some(bytes) = decode(encoding, text).filter(|bytes| !bytes.is_empty() && bytes != text.as_bytes()) else {
            continue;
        };
        let decoded = String::from_utf8_lossy(&bytes);
        let printable = printable(&decoded);
        let preview = decoded.chars().take(PREVIEW).collect();
        found.push((encoding, printable, Candidate { encoding: encoding.word(), preview }));
    }
    found.sort_by_key(|(_, printable, _)| *printable < PRINTABLE);
    let best = found.first().filter(|(_, printable, _)| text.len() >= LEAST && *printable >= PRINTABLE);
    let best = best.map_or(Encoding::Utf8, |(encoding, ..)| *encoding);
    (best, found.into_iter().map(|(.., candidate)| candidate).collect())
}

fn printable(text: &str) -> f64 {
    let good = text.chars().filter(|letter| !letter.is_control() || matches!(letter, '\n' | '\r' | '\t'));
    let good = good.filter(|letter| *letter != char::REPLACEMENT_CHARACTER).count();
    good as f64 / text.chars().count().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_text_is_recognised_and_plain_text_is_not() {
        for (text, encoding) in [
            ("68656c6c6f20776f726c64", Encoding::Hex),
            ("aGVsbG8gd29ybGQ=", Encoding::Base64),
            ("NBSWY3DPEB3W64TMMQ======", Encoding::Base32),
            ("hello%20world", Encoding::Percent),
            ("a &lt; b", Encoding::Html),
            ("caf=C3=A9", Encoding::QuotedPrintable),
            ("the road is closed", Encoding::Utf8),
            ("", Encoding::Utf8),
        ] {
            assert_eq!(detect(text).0, encoding, "{text}");
        }
    }
}
