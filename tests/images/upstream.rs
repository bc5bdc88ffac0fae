//! What the scripted upstream draws.

use std::io::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::json;

use crate::support::upstream::UpstreamAction;

/// Columns and rows.
#[derive(Debug, Clone, Copy)]
pub struct Size(pub u32, pub u32);

fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let mut bytes = u32::try_from(data.len()).unwrap().to_be_bytes().to_vec();
    bytes.extend(kind);
    bytes.extend(data);
    let sum = crc32fast::hash(&bytes[4..]);
    bytes.extend(sum.to_be_bytes());
    bytes
}

/// An 8-bit grey PNG with a mark of provenance.
pub fn picture(Size(width, height): Size) -> Vec<u8> {
    let mut header = [width.to_be_bytes(), height.to_be_bytes()].concat();
    header.extend([8, 0, 0, 0, 0]);
    let row: Vec<u8> = std::iter::once(0).chain((0..width).map(|x| (x % 251) as u8)).collect();
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    for _ in 0..height {
        encoder.write_all(&row).unwrap();
    }
    let data = encoder.finish().unwrap();
    let mark = chunk(b"tEXt", b"Source\0drawn by a test");
    [&b"\x89PNG\r\n\x1a\n"[..], &chunk(b"IHDR", &header), &mark, &chunk(b"IDAT", &data), &chunk(b"IEND", &[])].concat()
}

/// The body of an answer with these pictures and, if given, prompt and picture tokens.
pub fn whole_answer(pictures: &[Vec<u8>], tokens: Option<(u32, u32)>) -> String {
    let data: Vec<_> = pictures.iter().map(|png| json!({ "b64_json": STANDARD.encode(png) })).collect();
    let mut body = json!({ "created": 1, "data": data });
    if let Some((input, output)) = tokens {
        body["usage"] = json!({ "input_tokens": input, "output_tokens": output, "total_tokens": input + output,
            "input_tokens_details": { "image_tokens": 0, "text_tokens": input } });
    }
    body.to_string()
}

/// Answers with these pictures.
pub fn answer_of(pictures: &[Vec<u8>], tokens: Option<(u32, u32)>) -> UpstreamAction {
    // Lives as long as the test program; a script holds texts of the program.
    UpstreamAction::Status(200, "", Box::leak(whole_answer(pictures, tokens).into_boxed_str()))
}
