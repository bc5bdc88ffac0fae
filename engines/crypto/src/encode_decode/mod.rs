//! q211: conversion between encodings.

mod detect;
mod text;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use muster_engine::prelude::*;

use crate::{base32, hex, percent};

/// Input of the engine.
#[derive(Debug, Input)]
pub struct Input {
    data: String,
    from: SourceEncoding,
    to: Encoding,
}

/// Encoding of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub enum SourceEncoding {
    Auto,
    Utf8,
    Hex,
    Base64,
    #[wire(name = "base64url")]
    Base64Url,
    Base32,
    Base58,
    Ascii85,
    Percent,
    Html,
    Punycode,
    #[wire(name = "quoted-printable")]
    QuotedPrintable,
}

/// Encodings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub enum Encoding {
    Utf8,
    Hex,
    Base64,
    #[wire(name = "base64url")]
    Base64Url,
    Base32,
    Base58,
    Ascii85,
    Percent,
    Html,
    Punycode,
    #[wire(name = "quoted-printable")]
    QuotedPrintable,
}

/// Output of the engine.
#[derive(Debug, Output)]
pub struct Output {
    data: String,
    detected: Option<String>,
    bytes: usize,
    candidates: Option<Vec<Candidate>>,
}

/// An encoding that the input may have.
#[derive(Debug, Clone, PartialEq, Output)]
pub struct Candidate {
    encoding: &'static str,
    preview: String,
}

const MAX_TEXT: usize = 1 << 20;
/// Base58 and Punycode take time with the square of the length.
const MAX_SQUARE: usize = 4096;

impl SourceEncoding {
    fn encoding(self) -> Option<Encoding> {
        Some(match self {
            Self::Auto => return None,
            Self::Utf8 => Encoding::Utf8,
            Self::Hex => Encoding::Hex,
            Self::Base64 => Encoding::Base64,
            Self::Base64Url => Encoding::Base64Url,
            Self::Base32 => Encoding::Base32,
            Self::Base58 => Encoding::Base58,
            Self::Ascii85 => Encoding::Ascii85,
            Self::Percent => Encoding::Percent,
            Self::Html => Encoding::Html,
            Self::Punycode => Encoding::Punycode,
            Self::QuotedPrintable => Encoding::QuotedPrintable,
        })
    }
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    if input.data.len() > MAX_TEXT {
        return Err(Failure::too_large(format!("at most {MAX_TEXT} bytes of text")));
    }
    let (from, candidates) = match input.from.encoding() {
        Some(encoding) => (encoding, None),
        None => {
            let (encoding, candidates) = detect::detect(&input.data);
            (encoding, Some(candidates))
        }
    };
    let bytes =
        decode(from, &input.data).ok_or_else(|| Failure::invalid(&["data"], format!("is no {}", from.word())))?;
    let data = encode(input.to, &bytes).ok_or_else(|| {
        Failure::invalid(&["to"], format!("{} cannot hold these {} bytes", input.to.word(), bytes.len()))
    })?;
    if candidates.is_some() {
        cx.assume("the encoding was detected; several may fit the same text");
    }
    Ok(Output { data, detected: candidates.is_some().then(|| from.word().to_owned()), bytes: bytes.len(), candidates })
}

/// Bytes that a text stands for; `None` if it is not of the encoding.
fn decode(encoding: Encoding, text: &str) -> Option<Vec<u8>> {
    let compact = || text.split_ascii_whitespace().collect::<String>();
    match encoding {
        Encoding::Utf8 => Some(text.as_bytes().to_vec()),
        Encoding::Hex => hex::decode(&compact()),
        Encoding::Base64 => STANDARD.decode(compact()).ok(),
        Encoding::Base64Url => URL_SAFE_NO_PAD.decode(compact().trim_end_matches('=')).ok(),
        Encoding::Base32 => base32::decode(&compact()),
        Encoding::Base58 => {
            Some(compact()).filter(|text| text.len() <= MAX_SQUARE).and_then(|text| text::base58_decode(&text))
        }
        Encoding::Ascii85 => text::ascii85_decode(&compact()),
        Encoding::Percent => percent::decode(text),
        Encoding::Html => Some(text::html_decode(text).into_bytes()),
        Encoding::Punycode if text.len() > MAX_SQUARE => None,
        Encoding::Punycode => text::punycode_decode(text).map(String::into_bytes),
        Encoding::QuotedPrintable => text::quoted_decode(text),
    }
}

/// Text for some bytes; `None` if the encoding cannot hold them.
fn encode(encoding: Encoding, bytes: &[u8]) -> Option<String> {
    let utf8 = || std::str::from_utf8(bytes).ok();
    match encoding {
        Encoding::Utf8 => utf8().map(str::to_owned),
        Encoding::Hex => Some(hex::encode(bytes)),
        Encoding::Base64 => Some(STANDARD.encode(bytes)),
        Encoding::Base64Url => Some(URL_SAFE_NO_PAD.encode(bytes)),
        Encoding::Base32 => Some(base32::encode(bytes)),
        Encoding::Base58 => (bytes.len() <= MAX_SQUARE).then(|| text::base58_encode(bytes)),
        Encoding::Ascii85 => Some(text::ascii85_encode(bytes)),
        Encoding::Percent => Some(percent::encode(bytes)),
        Encoding::Html => utf8().map(text::html_encode),
        Encoding::Punycode => utf8().filter(|text| text.len() <= MAX_SQUARE).and_then(text::punycode_encode),
        Encoding::QuotedPrintable => Some(text::quoted_encode(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Encoding; 11] = [
        Encoding::Utf8,
        Encoding::Hex,
        Encoding::Base64,
        Encoding::Base64Url,
        Encoding::Base32,
        Encoding::Base58,
        Encoding::Ascii85,
        Encoding::Percent,
        Encoding::Html,
        Encoding::Punycode,
        Encoding::QuotedPrintable,
    ];

    #[test]
    fn what_is_encoded_is_restored() {
        for text in [
            "",
            "a",
            "foobar",
            "München & <Köln> = 100 %",
            "ليهمابتكلموشعربي؟",
            "line one \r\nline\ttwo",
            "\u{0}\u{1}z",
        ] {
            for encoding in ALL {
                let encoded = encode(encoding, text.as_bytes()).unwrap();
                assert_eq!(decode(encoding, &encoded).as_deref(), Some(text.as_bytes()), "{encoding:?} {encoded:?}");
            }
        }
        let bytes: Vec<u8> = (0..=255).collect();
        for encoding in
            ALL.iter().filter(|encoding| !matches!(encoding, Encoding::Utf8 | Encoding::Html | Encoding::Punycode))
        {
            let encoded = encode(*encoding, &bytes).unwrap();
            assert_eq!(decode(*encoding, &encoded).as_deref(), Some(bytes.as_slice()), "{encoding:?}");
        }
    }
}
