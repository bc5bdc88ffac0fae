//! The gate of a translated body.

use super::Check;
use super::citations::cited_sentences;
use super::words::{numbers, visible, well_formed};
use crate::text::sentences;
use std::collections::BTreeSet;

/// How many times as long as the original a translation may be, and how short.
const LONGEST: usize = 3;
const SHORTEST: usize = 5;

/// Checks that a translation has the numbers and the citations of its original
/// and about its length. What the words of another language say cannot be
/// checked here: that is why only the body is translated, below `emergency`,
/// by a provider that the operator has named, and with the original beside it.
///
/// # Errors
/// Every check that fails.
pub fn check_translation(original: &str, translated: &str) -> Result<(), Vec<Check>> {
    let mut failed = BTreeSet::new();
    let text = visible(translated);
    let length = |text: &str| text.chars().count();
    let (least, most) = (length(original) / SHORTEST, length(original).saturating_mul(LONGEST));
    if !well_formed(&text, most) || length(&text) < least {
        failed.insert(Check::Form);
    }
    let cites = |text: &str| {
        let mut all: Vec<usize> = cited_sentences(text).into_iter().flat_map(|sentence| sentence.cites).collect();
        all.sort_unstable();
        all
    };
    if cites(original) != cites(&text) {
        failed.insert(Check::UnknownCitation);
    }
    if all_numbers(original) != all_numbers(&text) {
        failed.insert(Check::Number);
    }
    if failed.is_empty() { Ok(()) } else { Err(failed.into_iter().collect()) }
}

fn all_numbers(text: &str) -> Vec<String> {
    let western: String = text.chars().map(western_digit).collect();
    let tokens = sentences(&western).into_iter().flat_map(|s| s.tokens);
    let mut all: Vec<String> = tokens.flat_map(|token| numbers(&token.word).collect::<Vec<_>>()).collect();
    all.sort_unstable();
    all
}

/// Digits of other scripts as those that the original has.
fn western_digit(c: char) -> char {
    let from = |zero: char| u32::from(c).checked_sub(u32::from(zero)).filter(|digit| *digit < 10);
    ['\u{660}', '\u{6f0}', '\u{966}', '\u{9e6}', '\u{ff10}']
        .into_iter()
        .find_map(from)
        .and_then(|digit| char::from_digit(digit, 10))
        .unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGINAL: &str = "What to do:\n- Ultrasound within 4 hours [1]\n- Repeat after 6 to 8 days [2]";

    #[test]
    fn a_translation_keeps_numbers_and_citations() {
        let german =
            "Was zu tun ist:\n- Ultraschall innerhalb von 4 Stunden [1]\n- Wiederholung nach 6 bis 8 Tagen [2]";
        assert_eq!(check_translation(ORIGINAL, german), Ok(()));
        let arabic = "ما العمل:\n- الموجات فوق الصوتية خلال ٤ ساعات [1]\n- الإعادة بعد ٦ إلى ٨ أيام [2]";
        assert_eq!(check_translation(ORIGINAL, arabic), Ok(()));
    }

    #[test]
    fn a_changed_number_a_lost_citation_and_a_lost_part_are_refused() {
        let changed =
            "Was zu tun ist:\n- Ultraschall innerhalb von 14 Stunden [1]\n- Wiederholung nach 6 bis 8 Tagen [2]";
        assert_eq!(check_translation(ORIGINAL, changed), Err(vec![Check::Number]));
        let lost = "Was zu tun ist:\n- Ultraschall innerhalb von 4 Stunden\n- Wiederholung nach 6 bis 8 Tagen [2]";
        assert!(check_translation(ORIGINAL, lost).unwrap_err().contains(&Check::UnknownCitation));
        assert!(check_translation(ORIGINAL, "Gut.").unwrap_err().contains(&Check::Form));
        let long = format!("{ORIGINAL} {}", "und so weiter ".repeat(40));
        assert!(check_translation(ORIGINAL, &long).unwrap_err().contains(&Check::Form));
    }
}
