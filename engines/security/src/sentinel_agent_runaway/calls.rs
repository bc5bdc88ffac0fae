//! Calls in a form that can be compared.

use muster_engine::prelude::*;
use sha2_11::{Digest, Sha256};

/// Hash functions of a sketch.
const HASHES: usize = 64;
/// Longest cycle that is searched for.
const MAX_PERIOD: usize = 12;
/// Text of arguments that is compared, in bytes.
const MAX_COMPARED: usize = 4_096;

/// A call with its arguments in canonical form (RFC 8785): the order of members does not matter.
pub(super) struct Call<'a> {
    pub tool: &'a str,
    pub text: String,
    pub hash: u64,
}

impl<'a> Call<'a> {
    pub(super) fn new(tool: &'a str, arguments: &Value) -> Self {
        let text = serde_json_canonicalizer::to_string(arguments).unwrap_or_else(|_| arguments.to_string());
        let digest = Sha256::new().chain_update(tool).chain_update([0]).chain_update(&text).finalize();
        let hash = digest.iter().take(8).fold(0, |hash, byte| (hash << 8) | u64::from(*byte));
        Self { tool, text, hash }
    }
}

/// Finds the shortest cycle with which a sequence begins, and how many full rounds it has: the least period of Brent's
/// method, on a window that is short enough to try each. At least three rounds.
pub(super) fn cycle(hashes: &[u64]) -> Option<(usize, usize)> {
    (2..=MAX_PERIOD).find_map(|period| {
        let agree = hashes.iter().zip(hashes.get(period..)?).take_while(|(a, b)| a == b).count();
        let rounds = 1 + agree / period;
        (rounds >= 3).then_some((period, rounds))
    })
}

/// Sketch of the words of a text (MinHash).
pub(super) fn minhash(text: &str) -> [u64; HASHES] {
    let mut least = [u64::MAX; HASHES];
    let mut end = text.len().min(MAX_COMPARED);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let words =
        text.get(..end).unwrap_or_default().split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    for word in words {
        let hash = word
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
        for (seed, least) in (1_u64..).zip(&mut least) {
            *least = (*least).min(mixed(hash ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        }
    }
    least
}

fn mixed(mut hash: u64) -> u64 {
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

/// Estimate of the share of common words.
pub(super) fn similar(a: &[u64; HASHES], b: &[u64; HASHES]) -> f64 {
    a.iter().zip(b).filter(|(a, b)| a == b).count() as f64 / HASHES as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_need_three_rounds() {
        assert_eq!(cycle(&[1, 2, 1, 2, 1, 2, 9]), Some((2, 3)));
        assert_eq!(cycle(&[1, 2, 1, 2, 9, 1, 2]), None);
        assert_eq!(cycle(&[1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3]), Some((3, 4)));
    }

    #[test]
    fn the_order_of_members_does_not_matter() {
        let call = |text: &str| Call::new("t", &serde_json::from_str(text).unwrap()).hash;
        assert_eq!(call(r#"{"a": 1, "b": 2}"#), call(r#"{"b": 2, "a": 1.0}"#));
        assert_ne!(call(r#"{"a": 1}"#), call(r#"{"a": 2}"#));
    }

    #[test]
    fn sketches_estimate_the_share_of_common_words() {
        let words = |from: usize| (from..from + 100).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" ");
        assert_eq!(similar(&minhash(&words(0)), &minhash(&words(0))), 1.0);
        // 90 of 110 words are common.
        assert!((similar(&minhash(&words(0)), &minhash(&words(10))) - 90.0 / 110.0).abs() < 0.15);
        assert!(similar(&minhash(&words(0)), &minhash(&words(500))) < 0.1);
    }
}
