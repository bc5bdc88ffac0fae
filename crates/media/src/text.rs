//! Pictures that are sent as text: base64 or a `data:` URL.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Base64 of RFC 4648, section 4, with or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Why a text is no picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// A link.
    #[error("is a link, and links are not fetched: send the picture itself as base64 or data URL")]
    Link,
    /// A data URL without `;base64`.
    #[error("is a data URL without `;base64,`: encode its data in base64")]
    DataUrl,
    /// Not base64.
    #[error("is not base64: send the bytes of the picture in base64 (RFC 4648, section 4)")]
    Base64,
    /// No bytes.
    #[error("is empty: send the bytes of a picture")]
    Empty,
    /// More bytes than are accepted.
    #[error("is larger than {0} MiB: send a smaller picture")]
    TooLarge(usize),
}

/// Decodes base64 or a data URL, at most `most` bytes. White space is skipped, as in MIME. The declared media type of a
/// data URL is not read.
///
/// # Errors
/// Why the text is no picture.
pub fn decode(text: &str, most: usize) -> Result<Vec<u8>, TextError> {
    let text = text.trim_ascii();
    let encoded = match text.get(..5) {
        Some(scheme) if scheme.eq_ignore_ascii_case("data:") => {
            let (head, data) = text.split_once(',').ok_or(TextError::DataUrl)?;
            let tail = head.len().checked_sub(7).and_then(|at| head.get(at..)).unwrap_or_default();
            if !tail.eq_ignore_ascii_case(";base64") {
                return Err(TextError::DataUrl);
            }
            data
        }
        _ if is_link(text) => return Err(TextError::Link),
        _ => text,
    };
    if encoded.trim_ascii().is_empty() {
        return Err(TextError::Empty);
    }
    let spaces = encoded.bytes().filter(u8::is_ascii_whitespace).count();
    let too_large = || TextError::TooLarge(most >> 20);
    // Four characters are three bytes; the last group may have two of padding.
    if (encoded.len() - spaces) / 4 > most / 3 + 1 {
        return Err(too_large());
    }
    let bytes = if spaces == 0 {
        BASE64.decode(encoded)
    } else {
        BASE64.decode(encoded.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect::<Vec<u8>>())
    };
    let bytes = bytes.map_err(|_| TextError::Base64)?;
    if bytes.len() > most { Err(too_large()) } else { Ok(bytes) }
}

/// Returns whether the text begins with a scheme and `://`; base64 has no colon.
fn is_link(text: &str) -> bool {
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| {
        (1..=20).contains(&scheme.len())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of RFC 4648, section 10.
    #[test]
    fn base64_and_data_urls_are_decoded() {
        for (text, bytes) in
            [("Zg==", "f"), ("Zg", "f"), ("Zm9v", "foo"), ("Zm9vYmE=", "fooba"), (" Zm9v\r\nYmFy\n", "foobar")]
        {
            assert_eq!(decode(text, 100).as_deref(), Ok(bytes.as_bytes()), "{text}");
        }
        assert_eq!(decode("data:image/png;base64,Zm9v", 100).as_deref(), Ok(b"foo".as_slice()));
        assert_eq!(decode("DATA:;BASE64,Zm9v", 100).as_deref(), Ok(b"foo".as_slice()));
    }

    #[test]
    fn what_is_no_picture_is_refused_by_its_reason() {
        for link in ["https://example.org/a.png", "http://127.0.0.1/", "file:///etc/passwd", "ftp://x/y", "gopher://x"]
        {
            assert_eq!(decode(link, 100), Err(TextError::Link), "{link}");
        }
        for url in ["data:image/png,abc", "data:image/png;base64", "data:", "data:;base32,AAAA"] {
            assert_eq!(decode(url, 100), Err(TextError::DataUrl), "{url}");
        }
        for text in ["Zm9v!", "Z", "Zm9v=Zm9v", "éé", "-_-_"] {
            assert_eq!(decode(text, 100), Err(TextError::Base64), "{text}");
        }
        for text in ["", "  \n", "data:;base64,"] {
            assert_eq!(decode(text, 100), Err(TextError::Empty), "{text:?}");
        }
    }

    #[test]
    fn the_size_is_bounded_by_the_byte() {
        let most = 3 << 10;
        let text = |bytes: usize| BASE64.encode(vec![7; bytes]);
        assert_eq!(decode(&text(most), most).map(|bytes| bytes.len()), Ok(most));
        for more in [1, 2, 3, 4, 100] {
            assert_eq!(decode(&text(most + more), most), Err(TextError::TooLarge(0)), "{more}");
        }
        let spaced = text(most).chars().flat_map(|c| [c, '\n']).collect::<String>();
        assert!(decode(&spaced, most).is_ok(), "white space does not count");
    }
}
