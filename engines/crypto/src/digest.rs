//! q203: digests.

use std::collections::BTreeMap;

use crc::{CRC_16_IBM_3740, CRC_32_ISCSI, CRC_32_ISO_HDLC, Crc};
use muster_engine::prelude::*;
use sha2_11::{Digest as _, Sha256, Sha384, Sha512};
use sha3::{Sha3_256, Sha3_512};

use crate::hex;

/// Input of the engine.
#[derive(Debug, Input)]
pub struct Input {
    data: Bytes,
    algorithms: Vec<Algorithm>,
    expected: Option<String>,
}

/// Digests that can be computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Words)]
pub enum Algorithm {
    #[wire(name = "sha256")]
    Sha256,
    #[wire(name = "sha512")]
    Sha512,
    #[wire(name = "sha384")]
    Sha384,
    #[wire(name = "sha3-256")]
    Sha3Of256,
    #[wire(name = "sha3-512")]
    Sha3Of512,
    #[wire(name = "blake3")]
    Blake3,
    #[wire(name = "crc32")]
    Crc32,
    #[wire(name = "crc32c")]
    Crc32c,
    #[wire(name = "crc16-ccitt")]
    Crc16Ccitt,
}

/// Output of the engine.
#[derive(Debug, Output)]
pub struct Output {
    digests: BTreeMap<String, String>,
    size_bytes: usize,
    matches: Option<bool>,
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let data = &input.data.0;
    let mut algorithms = input.algorithms;
    algorithms.sort();
    algorithms.dedup();
    let digests: Vec<(Algorithm, Vec<u8>)> =
        algorithms.into_iter().map(|algorithm| (algorithm, digest(algorithm, data))).collect();
    let expected = input.expected.map(|expected| {
        hex::decode(expected.trim()).ok_or_else(|| Failure::invalid(&["expected"], "must be hexadecimal"))
    });
    let expected = expected.transpose()?;
    let matches = expected.map(|expected| digests.iter().any(|(_, digest)| hex::equal(digest, &expected)));
    if digests
        .iter()
        .any(|(algorithm, _)| matches!(algorithm, Algorithm::Crc32 | Algorithm::Crc32c | Algorithm::Crc16Ccitt))
    {
        cx.assume("checksums find accidents, not forgeries");
    }
    let text = |(algorithm, digest): (Algorithm, Vec<u8>)| (algorithm.word().to_owned(), hex::encode(&digest));
    Ok(Output { digests: digests.into_iter().map(text).collect(), size_bytes: data.len(), matches })
}

/// Digest of some bytes; checksums are big-endian.
fn digest(algorithm: Algorithm, data: &[u8]) -> Vec<u8> {
    match algorithm {
        Algorithm::Sha256 => Sha256::digest(data).to_vec(),
        Algorithm::Sha384 => Sha384::digest(data).to_vec(),
        Algorithm::Sha512 => Sha512::digest(data).to_vec(),
        Algorithm::Sha3Of256 => Sha3_256::digest(data).to_vec(),
        Algorithm::Sha3Of512 => Sha3_512::digest(data).to_vec(),
        Algorithm::Blake3 => blake3::hash(data).as_bytes().to_vec(),
        Algorithm::Crc32 => Crc::<u32>::new(&CRC_32_ISO_HDLC).checksum(data).to_be_bytes().to_vec(),
        Algorithm::Crc32c => Crc::<u32>::new(&CRC_32_ISCSI).checksum(data).to_be_bytes().to_vec(),
        Algorithm::Crc16Ccitt => Crc::<u16>::new(&CRC_16_IBM_3740).checksum(data).to_be_bytes().to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check values of the CRC RevEng catalogue for "123456789".
    #[test]
    fn checksums_have_their_check_values() {
        for (algorithm, check) in
            [(Algorithm::Crc32, "cbf43926"), (Algorithm::Crc32c, "e3069283"), (Algorithm::Crc16Ccitt, "29b1")]
        {
            assert_eq!(hex::encode(&digest(algorithm, b"123456789")), check);
        }
    }

    #[test]
    fn each_flipped_bit_no_longer_matches() {
        let data = b"firmware".to_vec();
        let expected = hex::encode(&digest(Algorithm::Sha256, &data));
        for bit in 0..data.len() * 8 {
            let mut flipped = data.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let input =
                Input { data: Bytes(flipped), algorithms: vec![Algorithm::Sha256], expected: Some(expected.clone()) };
            assert_eq!(run(input, &Context::default()).unwrap().matches, Some(false));
        }
    }
}
