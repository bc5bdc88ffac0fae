//! The table of py3langid: a finite automaton over bytes, and a weight of each feature for each language.
//!
//! Layout, little-endian: the magic `MLID1\n`; u32 counts of columns, states, transition rows and features; the columns'
//! language codes, 3 bytes each; f32 prior of each column; u16 transition row of each state; i32 feature of each state
//! (-1: none); u32 next state by row and byte; f16 weight by feature and column. A code with several columns is a
//! language with several scripts.
//!
//! Transitions and weights, 57 MB, are read in place; what is read once is under 1 MB.

use std::fmt;

use unicode_normalization::UnicodeNormalization;

use super::list::{Language, by_code};

const MAGIC: &[u8; 6] = b"MLID1\n";
const HEADER: u64 = 22;
const CODE: usize = 3;
/// Bytes of a transition row: a state of 4 bytes for each byte of a text.
const ROW: u64 = 1024;
/// Bounds of the counts, far above those of the published table.
const MAX_COLUMNS: u32 = 1024;
const MAX_STATES: u32 = 1 << 24;

/// The bytes of a table: memory, or a file that is read in place.
pub trait TableBytes: Send + Sync {
    /// Returns the number of bytes.
    fn length(&self) -> u64;
    /// Fills `into` with the bytes from `offset` on; `None` if they cannot be read.
    fn read_at(&self, offset: u64, into: &mut [u8]) -> Option<()>;
}

impl TableBytes for Vec<u8> {
    fn length(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> Option<()> {
        let start = usize::try_from(offset).ok()?;
        into.copy_from_slice(self.get(start..start.checked_add(into.len())?)?);
        Some(())
    }
}

/// Why a table cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// The file is no table of this layout.
    #[error("the language table is damaged: {0}")]
    Damaged(String),
    /// The bytes could not be read.
    #[error("the language table cannot be read")]
    Unreadable,
}

fn damaged(why: impl Into<String>) -> TableError {
    TableError::Damaged(why.into())
}

/// A language and how likely it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Guess {
    /// The language.
    pub language: &'static Language,
    /// Probability, 0 to 1.
    pub confidence: f64,
}

/// A table whose header, states and features are checked; every state that a transition names is checked when it is read.
pub struct LanguageTable {
    bytes: Box<dyn TableBytes>,
    /// Index into `labels` of each column.
    columns: Vec<usize>,
    labels: Vec<&'static Language>,
    priors: Vec<f32>,
    /// Transition row and feature (-1: none) of each state.
    states: Vec<(u16, i32)>,
    transitions_at: u64,
    weights_at: u64,
}

impl fmt::Debug for LanguageTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LanguageTable").field("columns", &self.columns.len()).finish_non_exhaustive()
    }
}

impl LanguageTable {
    /// Opens a table.
    ///
    /// # Errors
    /// The bytes are no table, are cut off, or name an unknown language.
    pub fn open(bytes: impl TableBytes + 'static) -> Result<Self, TableError> {
        let read = |at: u64, length: usize| {
            let mut out = vec![0; length];
            bytes.read_at(at, &mut out).map(|()| out).ok_or(TableError::Unreadable)
        };
        if bytes.length() < HEADER {
            return Err(damaged("it has no header"));
        }
        let header = read(0, HEADER as usize)?;
        let counts: Vec<u32> = header.get(MAGIC.len()..).unwrap_or_default().chunks_exact(4).map(u32_of).collect();
        let (true, &[columns, states, rows, features]) = (header.starts_with(MAGIC), counts.as_slice()) else {
            return Err(damaged("it begins with other bytes than a table"));
        };
        if columns == 0 || columns > MAX_COLUMNS || states == 0 || states > MAX_STATES {
            return Err(damaged(format!("{columns} columns and {states} states")));
        }
        let wide = |count: u32| u64::from(count);
        let priors_at = HEADER + CODE as u64 * wide(columns);
        let rows_at = priors_at + 4 * wide(columns);
        let features_at = rows_at + 2 * wide(states);
        let transitions_at = features_at + 4 * wide(states);
        let weights_at = transitions_at + ROW * wide(rows);
        let end = weights_at + 2 * wide(columns) * wide(features);
        if bytes.length() != end {
            return Err(damaged(format!("it has {} bytes instead of {end}", bytes.length())));
        }
        let (mut labels, mut of_columns) = (Vec::new(), Vec::new());
        for code in read(HEADER, CODE * columns as usize)?.chunks_exact(CODE) {
            let code = String::from_utf8_lossy(code);
            let code = code.trim_end_matches('\0');
            let language = by_code(code).ok_or_else(|| damaged(format!("it names the language {code:?}")))?;
            let label = labels.iter().position(|known: &&Language| known.code == language.code);
            of_columns.push(label.unwrap_or_else(|| {
                labels.push(language);
                labels.len() - 1
            }));
        }
        let priors: Vec<f32> =
            read(priors_at, 4 * columns as usize)?.chunks_exact(4).map(|four| f32::from_bits(u32_of(four))).collect();
        let of_rows = read(rows_at, 2 * states as usize)?;
        let of_features = read(features_at, 4 * states as usize)?;
        let of_rows = of_rows.chunks_exact(2).map(u16_of);
        let of_features = of_features.chunks_exact(4).map(|four| u32_of(four).cast_signed());
        let states: Vec<(u16, i32)> = of_rows.zip(of_features).collect();
        let fits = |&(row, feature): &(u16, i32)| u32::from(row) < rows && i64::from(feature) < i64::from(features);
        if !states.iter().all(fits) || !priors.iter().all(|prior| prior.is_finite()) {
            return Err(damaged("a state leads out of it, or a prior is no number"));
        }
        Ok(Self { bytes: Box::new(bytes), columns: of_columns, labels, priors, states, transitions_at, weights_at })
    }

    /// Returns the languages of the table.
    pub fn languages(&self) -> &[&'static Language] {
        &self.labels
    }

    /// Ranks the languages for a text as py3langid does, the best first: naive Bayes over the features that the
    /// automaton finds, `log1p(count)` of each times its weight plus the prior, divided by the square root of the number
    /// of bytes, as probabilities by softmax. `candidates` restricts the languages by code; empty: all.
    ///
    /// # Errors
    /// The table is damaged or cannot be read.
    pub fn rank(&self, text: &str, candidates: &[&str]) -> Result<Vec<Guess>, TableError> {
        let text = canonical(text);
        let scores = self.scores(text.as_bytes())?;
        let allowed = |language: &Language| candidates.is_empty() || candidates.contains(&language.code.as_str());
        let scores: Vec<(usize, f64)> = (self.columns.iter().copied().zip(scores))
            .filter(|&(label, _)| self.labels.get(label).is_some_and(|language| allowed(language)))
            .collect();
        let scale = 1.0 / (text.len().max(1) as f64).sqrt();
        let best = scores.iter().map(|&(_, score)| score * scale).fold(f64::NEG_INFINITY, f64::max);
        let mut sums = vec![0.0; self.labels.len()];
        let mut total = 0.0;
        for (label, score) in scores {
            let share = (score * scale - best).exp();
            total += share;
            if let Some(sum) = sums.get_mut(label) {
                *sum += share;
            }
        }
        let ranked = self.labels.iter().zip(sums).filter(|(language, _)| allowed(language));
        let mut ranked: Vec<Guess> =
            ranked.map(|(&language, sum)| Guess { language, confidence: sum / total }).collect();
        ranked.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
        Ok(ranked)
    }

    /// Score of each column. Without a feature every score is 0.
    fn scores(&self, text: &[u8]) -> Result<Vec<f64>, TableError> {
        let features = self.features(text)?;
        if features.is_empty() {
            return Ok(vec![0.0; self.columns.len()]);
        }
        let mut scores: Vec<f64> = self.priors.iter().map(|&prior| f64::from(prior)).collect();
        let mut weights = vec![0; 2 * self.columns.len()];
        for same in features.chunk_by(|a, b| a == b) {
            let Some(&feature) = same.first() else { continue };
            let at = self.weights_at + u64::from(feature) * weights.len() as u64;
            self.bytes.read_at(at, &mut weights).ok_or(TableError::Unreadable)?;
            let factor = (same.len() as f64).ln_1p();
            for (score, weight) in scores.iter_mut().zip(weights.chunks_exact(2)) {
                *score += factor * f64::from(half(u16_of(weight)));
            }
        }
        if scores.iter().all(|score| score.is_finite()) { Ok(scores) } else { Err(damaged("a weight is no number")) }
    }

    /// The features that the automaton finds, sorted.
    fn features(&self, text: &[u8]) -> Result<Vec<u32>, TableError> {
        let mut features = Vec::new();
        let mut row = self.states.first().map_or(0, |state| state.0);
        let mut next = [0; 4];
        for &byte in text {
            let at = self.transitions_at + u64::from(row) * ROW + u64::from(byte) * 4;
            self.bytes.read_at(at, &mut next).ok_or(TableError::Unreadable)?;
            let state = self.states.get(u32_of(&next) as usize);
            let &(into, feature) = state.ok_or_else(|| damaged("a transition leads to no state"))?;
            row = into;
            features.extend(u32::try_from(feature).ok());
        }
        features.sort_unstable();
        Ok(features)
    }
}

/// The form in which the table was trained: in lower case if all of it is in upper case, then NFC.
fn canonical(text: &str) -> String {
    let is_upper = text.chars().any(char::is_uppercase) && !text.chars().any(char::is_lowercase);
    if is_upper { text.to_lowercase().nfc().collect() } else { text.nfc().collect() }
}

fn u32_of(bytes: &[u8]) -> u32 {
    bytes.try_into().map_or(0, u32::from_le_bytes)
}

fn u16_of(bytes: &[u8]) -> u16 {
    bytes.try_into().map_or(0, u16::from_le_bytes)
}

/// Value of an IEEE 754 binary16 number.
fn half(bits: u16) -> f32 {
    let (exponent, fraction) = ((bits >> 10) & 31, bits & 0x3ff);
    let magnitude = match exponent {
        0 => f32::from(fraction) / 16_777_216.0,
        31 if fraction == 0 => f32::INFINITY,
        31 => f32::NAN,
        _ => f32::from_bits(((u32::from(exponent) + 112) << 23) | (u32::from(fraction) << 13)),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::half;

    #[test]
    fn binary16_numbers_have_their_values() {
        // IEEE 754-2008, table 3.2: smallest subnormal, smallest normal, one, largest, -2.
        let expected = [(0x0001, 2f32.powi(-24)), (0x0400, 2f32.powi(-14)), (0x3c00, 1.0), (0x7bff, 65504.0)];
        for (bits, value) in expected {
            assert_eq!(half(bits), value);
        }
        assert_eq!((half(0xc000), half(0x7c00)), (-2.0, f32::INFINITY));
        assert!(half(0x7e00).is_nan());
    }
}
