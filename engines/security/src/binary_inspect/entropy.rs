//! Shannon entropy of bytes, of a file and of its blocks.

use muster_engine::prelude::*;

use super::malformed;

/// Length of a block, in bytes.
pub(super) const BLOCK: usize = 1_024;
/// Entropy from which a block is compressed or encrypted: that of 1 KiB of random bytes is 7.81 ± 0.02 on average, for the
/// 256 bins of a sample of 1,024.
const DENSE: f64 = 7.7;
/// Blocks in a row that make a region.
const REGION: usize = 8;
/// How often the bytes of a file may be measured: sections of sane files do not overlap.
const TIMES: usize = 4;

/// Bits per byte, to six decimals.
pub(super) fn of(bytes: &[u8]) -> f64 {
    let mut counts = [0_u64; 256];
    for byte in bytes {
        if let Some(count) = counts.get_mut(usize::from(*byte)) {
            *count += 1;
        }
    }
    let all = bytes.len() as f64;
    let bits: f64 = counts.iter().filter(|count| **count > 0).map(|count| *count as f64 / all).map(term).sum();
    (bits * 1e6).round() / 1e6
}

fn term(share: f64) -> f64 {
    // Not `-share * …`: the entropy of equal bytes is 0 and not -0.
    0.0 - share * share.log2()
}

/// The entropy of each block; the last one may be shorter.
pub(super) fn blocks(bytes: &[u8]) -> Vec<f64> {
    bytes.chunks(BLOCK).map(of).collect()
}

/// Offsets of the regions that look compressed or encrypted.
pub(super) fn dense(map: &[f64]) -> Vec<(usize, &'static str)> {
    let mut regions = Vec::new();
    let mut run = 0;
    for (at, entropy) in map.iter().enumerate() {
        run = if *entropy >= DENSE { run + 1 } else { 0 };
        if run == REGION {
            regions.push(((at + 1 - REGION) * BLOCK, "high-entropy"));
        }
    }
    regions
}

/// Bytes that may still be measured.
#[derive(Debug)]
pub(super) struct Budget(usize);

impl Budget {
    pub(super) fn of(length: usize) -> Self {
        Self(length.saturating_mul(TIMES))
    }

    pub(super) fn spend(&mut self, bytes: usize) -> Result<(), Failure> {
        let why = || malformed("its sections overlap: together they are more than four times the file");
        self.0 = self.0.checked_sub(bytes).ok_or_else(why)?;
        Ok(())
    }
}
