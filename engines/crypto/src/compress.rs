//! q212: compression.

use std::io::{Read, Write};

use crc::{CRC_32_ISO_HDLC, Crc};
use flate2::Compression;
use muster_engine::prelude::*;

/// Input of the engine; ranges and defaults stand in the catalogue.
#[derive(Debug, Input)]
pub struct Input {
    operation: Operation,
    data: Bytes,
    format: Format,
    level: u32,
    max_output_bytes: u64,
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub enum Operation {
    Compress,
    Decompress,
}

/// Formats of compressed data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub enum Format {
    Gzip,
    Zlib,
    Deflate,
    Brotli,
    Lz4,
}

/// Output of the engine; the checksum is of the uncompressed data.
#[derive(Debug, Output)]
pub struct Output {
    data: Bytes,
    input_size_bytes: usize,
    output_size_bytes: usize,
    ratio: Option<f64>,
    crc32: String,
}

const MAX_INPUT: usize = 32 << 20;
/// Largest output that may be allowed.
const MAX_OUTPUT: u64 = 64 << 20;
const BUFFER: usize = 64 << 10;
/// Window of Brotli, as a power of two.
const WINDOW: u32 = 22;

pub fn run(input: Input, _: &Context) -> Result<Output, Failure> {
    let data = input.data.0;
    if data.len() > MAX_INPUT {
        return Err(Failure::too_large(format!("at most {MAX_INPUT} bytes at a time")));
    }
    let most = input.max_output_bytes.min(MAX_OUTPUT);
    let made = match input.operation {
        Operation::Compress => compress(&data, input.format, input.level).map_err(Failure::internal)?,
        Operation::Decompress => decompress(&data, input.format, most)?,
    };
    if made.len() as u64 > most {
        return Err(Failure::too_large(format!("the output is larger than max_output, {most} bytes")));
    }
    let (plain, packed) = match input.operation {
        Operation::Compress => (&data, &made),
        Operation::Decompress => (&made, &data),
    };
    let checksum = Crc::<u32>::new(&CRC_32_ISO_HDLC).checksum(plain);
    let ratio = (!packed.is_empty()).then(|| plain.len() as f64 / packed.len() as f64);
    let (input_size_bytes, output_size_bytes) = (data.len(), made.len());
    Ok(Output { data: Bytes(made), input_size_bytes, output_size_bytes, ratio, crc32: format!("{checksum:08x}") })
}

/// Levels are those of Brotli, 0 to 11; the others have none above 9. LZ4 has none at all.
fn compress(data: &[u8], format: Format, level: u32) -> std::io::Result<Vec<u8>> {
    let flate = Compression::new(level.min(9));
    match format {
        Format::Gzip => {
            // No time and no name: the same data gives the same bytes.
            let mut encoder = flate2::GzBuilder::new().mtime(0).write(Vec::new(), flate);
            encoder.write_all(data)?;
            encoder.finish()
        }
        Format::Zlib => {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate);
            encoder.write_all(data)?;
            encoder.finish()
        }
        Format::Deflate => {
            let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate);
            encoder.write_all(data)?;
            encoder.finish()
        }
        Format::Brotli => {
            let mut made = Vec::new();
            brotli::CompressorReader::new(data, BUFFER, level.min(11), WINDOW).read_to_end(&mut made)?;
            Ok(made)
        }
        Format::Lz4 => {
            let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
            encoder.write_all(data)?;
            encoder.finish().map_err(std::io::Error::other)
        }
    }
}

fn decompress(data: &[u8], format: Format, most: u64) -> Result<Vec<u8>, Failure> {
    let reader: Box<dyn Read + '_> = match format {
        Format::Gzip => Box::new(flate2::read::MultiGzDecoder::new(data)),
        Format::Zlib => Box::new(flate2::read::ZlibDecoder::new(data)),
        Format::Deflate => Box::new(flate2::read::DeflateDecoder::new(data)),
        Format::Brotli => Box::new(brotli::Decompressor::new(data, BUFFER)),
        Format::Lz4 => Box::new(lz4_flex::frame::FrameDecoder::new(data)),
    };
    let mut made = Vec::new();
    // One byte more than is allowed shows that there is more.
    let read = reader.take(most + 1).read_to_end(&mut made);
    read.map_err(|error| Failure::invalid(&["data"], format!("is no valid {}: {error}", format.word())))?;
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMATS: [Format; 5] = [Format::Gzip, Format::Zlib, Format::Deflate, Format::Brotli, Format::Lz4];

    #[test]
    fn what_is_compressed_is_restored() {
        let data: Vec<u8> = (0..5000_u32).flat_map(|n| (n * n % 251).to_be_bytes()).collect();
        for format in FORMATS {
            for level in [0, 6, 11] {
                let packed = compress(&data, format, level).unwrap();
                assert_eq!(decompress(&packed, format, 1 << 20).unwrap(), data, "{format:?} {level}");
            }
        }
    }

    #[test]
    fn a_bomb_is_refused() {
        for format in FORMATS {
            let packed = compress(&vec![0; 1 << 20], format, 9).unwrap();
            let input = Input {
                operation: Operation::Decompress,
                data: Bytes(packed),
                format,
                level: 6,
                max_output_bytes: 1000,
            };
            assert!(matches!(run(input, &Context::default()), Err(Failure::TooLarge { .. })), "{format:?}");
        }
    }
}
