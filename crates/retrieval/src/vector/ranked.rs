/// A score and a number packed in one word that sorts best first: higher score, then lower number. Never NaN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ranked(u64);

impl Ranked {
    #[inline(always)]
    pub fn new(score: f32, number: u32) -> Self {
        let bits = score.to_bits();
        let ordered = if bits >> 31 == 0 { bits | 1 << 31 } else { !bits };
        Self(u64::from(ordered) << 32 | u64::from(!number))
    }

    #[inline(always)]
    pub fn score(self) -> f32 {
        let ordered = (self.0 >> 32) as u32;
        f32::from_bits(if ordered >> 31 == 1 { ordered & !(1 << 31) } else { !ordered })
    }

    #[inline(always)]
    pub fn number(self) -> u32 {
        !(self.0 as u32)
    }
}
