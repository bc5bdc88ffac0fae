//! Naive Bayes over hashed n-grams, trained on the development half of the labelled set.

use std::sync::LazyLock;

use super::Category;

/// Slots into which n-grams are hashed.
const SLOTS: usize = 16_384;
/// Classes: harmless, then the categories.
const CLASSES: usize = 1 + Category::COUNT;
/// Pseudo-count of each n-gram (Lidstone): texts are short and few.
const SMOOTHING: f64 = 0.05;

/// Development half of the labelled set.
static TEXTS: &str = include_str!("../../data/content_safety_dev.tsv");

struct Model {
    /// Logarithms of probabilities, by slot.
    terms: Vec<[f64; CLASSES]>,
}

static MODEL: LazyLock<Model> = LazyLock::new(|| Model::trained(TEXTS));

impl Model {
    fn trained(texts: &str) -> Self {
        let mut counts = vec![[0.0; CLASSES]; SLOTS];
        let mut totals = [0.0; CLASSES];
        for line in texts.lines().filter(|line| !line.starts_with('#')) {
            let mut cells = line.splitn(3, '\t');
            let (Some(label), Some(_), Some(text)) = (cells.next(), cells.next(), cells.next()) else { continue };
            let class = Category::named(label).map_or(0, |category| 1 + category as usize);
            for slot in slots(&crate::decode::plain(text)) {
                let count = counts.get_mut(slot).and_then(|row| row.get_mut(class));
                if let (Some(count), Some(total)) = (count, totals.get_mut(class)) {
                    *count += 1.0;
                    *total += 1.0;
                }
            }
        }
        for row in &mut counts {
            for (count, total) in row.iter_mut().zip(totals) {
                *count = ((*count + SMOOTHING) / (total + SMOOTHING * SLOTS as f64)).ln();
            }
        }
        Self { terms: counts }
    }
}

/// Mean evidence of an n-gram for a category against a harmless text, in natural logarithms of odds.
pub(super) fn evidence(plain: &str) -> [f64; Category::COUNT] {
    let mut sums = [0.0; CLASSES];
    let mut count = 0.0;
    for slot in slots(plain) {
        let Some(row) = MODEL.terms.get(slot) else { continue };
        count += 1.0;
        for (sum, term) in sums.iter_mut().zip(row) {
            *sum += term;
        }
    }
    let [harmless, rest @ ..] = sums;
    if count == 0.0 { [0.0; Category::COUNT] } else { rest.map(|sum| (sum - harmless) / count) }
}

/// Slots of the words and pairs of words of a plain text.
fn slots(plain: &str) -> impl Iterator<Item = usize> {
    let words: Vec<&str> = plain.split(|letter: char| !letter.is_alphanumeric() && letter != '\'').collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let pairs: Vec<usize> = words.windows(2).filter_map(|pair| Some(slot(pair.first()?, pair.get(1)?))).collect();
    let singles: Vec<usize> = words.iter().map(|word| slot(word, "")).collect();
    singles.into_iter().chain(pairs)
}

/// FNV-1a of 64 bits (Fowler, Noll, Vo).
fn slot(first: &str, second: &str) -> usize {
    let bytes = first.bytes().chain(std::iter::once(b' ')).chain(second.bytes());
    let hash =
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    usize::try_from(hash % SLOTS as u64).unwrap_or(0)
}
