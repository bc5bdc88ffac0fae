//! q209: secrets shared by Shamir's scheme over GF(2⁸) with the polynomial of AES.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use crc::{CRC_32_ISO_HDLC, Crc};
use muster_engine::prelude::*;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use sha2_11::{Digest as _, Sha256};

use crate::hex;

/// Input of the engine; ranges and defaults stand in the catalogue.
#[derive(Debug, Input)]
pub struct Input {
    operation: Operation,
    secret: Option<Bytes>,
    shares: Vec<String>,
    threshold: Option<usize>,
    total: Option<usize>,
    seed: Option<Bytes>,
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub enum Operation {
    Split,
    Combine,
}

/// Output of the engine.
#[derive(Debug, Output)]
pub struct Output {
    shares: Option<Vec<String>>,
    secret: Option<Bytes>,
    digest: String,
}

const MAX_SECRET: usize = 4096;
const CHECKSUM: usize = 4;

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    match input.operation {
        Operation::Split => split(input, cx),
        Operation::Combine => combine(&input, cx),
    }
}

fn split(input: Input, cx: &Context) -> Result<Output, Failure> {
    let secret = input.secret.map(|secret| secret.0).unwrap_or_default();
    if secret.is_empty() || secret.len() > MAX_SECRET {
        return Err(Failure::invalid(&["secret"], format!("is needed to split, 1 to {MAX_SECRET} bytes")));
    }
    let (Some(threshold), Some(total)) = (input.threshold, input.total) else {
        return Err(Failure::invalid(&["threshold"], "threshold and total are needed to split"));
    };
    if threshold > total {
        return Err(Failure::invalid(&["threshold"], "must be at most total"));
    }
    let seed = match input.seed {
        Some(seed) => {
            cx.warn("seeded: who knows the seed and one share knows the secret; seeds are for tests");
            seed.0
        }
        None => {
            let mut seed = vec![0; 32];
            getrandom::fill(&mut seed).map_err(Failure::internal)?;
            seed
        }
    };
    let mut random = ChaCha20Rng::from_seed(Sha256::digest(&seed).into());
    let mut values = vec![Vec::with_capacity(secret.len()); total];
    for byte in &secret {
        let mut coefficients = vec![0; threshold - 1];
        random.fill_bytes(&mut coefficients);
        for (at, value) in values.iter_mut().enumerate() {
            let x = at as u8 + 1;
            // Horner's rule, the secret is the constant term.
            let higher = coefficients.iter().rev().fold(0, |sum, coefficient| multiply(sum ^ coefficient, x));
            value.push(higher ^ byte);
        }
    }
    let write = |(at, value): (usize, Vec<u8>)| {
        let mut share = vec![at as u8 + 1];
        share.extend(value);
        let checksum = checksum(&share);
        share.extend(checksum);
        STANDARD.encode(share)
    };
    let shares = values.into_iter().enumerate().map(write).collect();
    Ok(Output { shares: Some(shares), secret: None, digest: hex::encode(&Sha256::digest(&secret)) })
}

fn combine(input: &Input, cx: &Context) -> Result<Output, Failure> {
    let shares: Result<Vec<(u8, Vec<u8>)>, Failure> =
        input.shares.iter().enumerate().map(|(at, share)| read(at, share)).collect();
    let shares = shares?;
    let needed = input.threshold.unwrap_or(2);
    if shares.len() < needed || shares.len() > 255 {
        return Err(Failure::invalid(&["shares"], format!("must be {needed} to 255 shares")));
    }
    let length = shares.first().map_or(0, |(_, value)| value.len());
    for (at, (index, value)) in shares.iter().enumerate() {
        let place = at.to_string();
        if value.len() != length {
            return Err(Failure::invalid(
                &["shares", &place],
                "has another length than the first: it is of another secret",
            ));
        }
        if shares.iter().take(at).any(|(other, _)| other == index) {
            return Err(Failure::invalid(&["shares", &place], "is given twice"));
        }
    }
    if input.threshold.is_none() {
        cx.warn("unchecked: with fewer shares than the threshold the result is a wrong secret; compare its digest");
    }
    let secret = (0..length).map(|at| at_zero(&shares, at)).collect::<Vec<u8>>();
    Ok(Output { shares: None, digest: hex::encode(&Sha256::digest(&secret)), secret: Some(Bytes(secret)) })
}

/// Index and bytes of a share whose checksum is right.
fn read(at: usize, share: &str) -> Result<(u8, Vec<u8>), Failure> {
    let place = at.to_string();
    let wrong = |message: &str| Failure::invalid(&["shares", &place], message.to_owned());
    let bytes = STANDARD.decode(share.trim()).map_err(|_| wrong("must be base64"))?;
    if bytes.len() < CHECKSUM + 2 || bytes.len() > MAX_SECRET + CHECKSUM + 1 {
        return Err(wrong("has the wrong length"));
    }
    let (body, sum) = bytes.split_at(bytes.len() - CHECKSUM);
    let index = body.first().copied().unwrap_or_default();
    if checksum(body) != sum || index == 0 {
        return Err(wrong("is damaged: its checksum is wrong"));
    }
    Ok((index, body.get(1..).unwrap_or_default().to_vec()))
}

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM] {
    Crc::<u32>::new(&CRC_32_ISO_HDLC).checksum(bytes).to_be_bytes()
}

/// Lagrange's interpolation at zero of one byte of the shares.
fn at_zero(shares: &[(u8, Vec<u8>)], at: usize) -> u8 {
    let term = |(x, value): &(u8, Vec<u8>)| {
        let factor = shares
            .iter()
            .filter(|(other, _)| other != x)
            .fold(1, |product, (other, _)| multiply(product, multiply(*other, inverse(other ^ x))));
        multiply(value.get(at).copied().unwrap_or_default(), factor)
    };
    shares.iter().map(term).fold(0, |sum, term| sum ^ term)
}

/// Product in GF(2⁸), in the same time for all values.
fn multiply(a: u8, b: u8) -> u8 {
    let (mut a, mut product) = (a, 0);
    for bit in 0..8 {
        product ^= a & 0_u8.wrapping_sub((b >> bit) & 1);
        a = (a << 1) ^ (0x1b & 0_u8.wrapping_sub(a >> 7));
    }
    product
}

/// a²⁵⁴, which is the inverse.
fn inverse(a: u8) -> u8 {
    let (mut power, mut result) = (a, 1);
    for _ in 0..7 {
        power = multiply(power, power);
        result = multiply(result, power);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_is_that_of_aes() {
        // FIPS 197, section 4.2: {57} · {83} = {c1}.
        assert_eq!(multiply(0x57, 0x83), 0xc1);
        for a in 1..=255 {
            assert_eq!(multiply(a, inverse(a)), 1);
        }
    }

    #[test]
    fn any_shares_of_the_threshold_restore_the_secret_and_damage_is_found() {
        let empty = |operation| Input {
            operation,
            secret: None,
            shares: Vec::new(),
            threshold: Some(3),
            total: None,
            seed: None,
        };
        let made = Input { secret: Some(Bytes(b"master key".to_vec())), total: Some(5), ..empty(Operation::Split) };
        let shares = run(made, &Context::default()).unwrap().shares.unwrap();
        let combine =
            |chosen: Vec<String>| run(Input { shares: chosen, ..empty(Operation::Combine) }, &Context::default());
        for (a, b, c) in [(0, 1, 2), (4, 2, 0), (1, 3, 4)] {
            let secret = combine(vec![shares[a].clone(), shares[b].clone(), shares[c].clone()]).unwrap().secret;
            assert_eq!(secret.unwrap().0, b"master key");
        }
        assert!(combine(vec![shares[0].clone(), shares[1].clone()]).is_err());
        assert!(combine(vec![shares[0].clone(), shares[0].clone(), shares[1].clone()]).is_err());
        let bytes = STANDARD.decode(&shares[0]).unwrap();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(combine(vec![STANDARD.encode(flipped), shares[1].clone(), shares[2].clone()]).is_err());
        }
    }
}
