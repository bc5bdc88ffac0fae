//! chrF2 of two texts (Popović 2015): character n-grams of 1 to 6 without white space; precision and recall are averaged
//! over the orders that both texts have, and recall counts twice (β = 2). As sacreBLEU computes it.

use std::collections::HashMap;

const ORDER: usize = 6;
const BETA_SQUARED: f64 = 4.0;

/// Returns the score of a text against its reference, 0 to 1.
pub(super) fn chrf2(text: &str, reference: &str) -> f64 {
    let plain = |text: &str| text.chars().filter(|letter| !letter.is_whitespace()).collect::<Vec<char>>();
    let (text, reference) = (plain(text), plain(reference));
    let (mut precision, mut recall, mut orders) = (0.0, 0.0, 0.0);
    for order in 1..=ORDER.min(text.len()).min(reference.len()) {
        let (had, wanted) = (grams(&text, order), grams(&reference, order));
        let both: usize = had.iter().map(|(gram, count)| (*count).min(wanted.get(gram).copied().unwrap_or(0))).sum();
        precision += both as f64 / (text.len() - order + 1) as f64;
        recall += both as f64 / (reference.len() - order + 1) as f64;
        orders += 1.0;
    }
    if precision + recall == 0.0 {
        return 0.0;
    }
    let (precision, recall) = (precision / orders, recall / orders);
    (1.0 + BETA_SQUARED) * precision * recall / (BETA_SQUARED * precision + recall)
}

fn grams(text: &[char], order: usize) -> HashMap<&[char], usize> {
    let mut counts = HashMap::new();
    for gram in text.windows(order) {
        *counts.entry(gram).or_insert(0) += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::chrf2;

    /// The scores are those of sacreBLEU 2.6 (`CHRF().sentence_score(text, [reference])`, divided by 100).
    #[test]
    fn scores_are_those_of_sacrebleu() {
        for (text, reference, score) in [
            ("The road to the harbour is closed.", "The road to the harbour is closed.", 1.0),
            ("The way to the port is closed.", "The road to the harbour is closed.", 0.412_596_596_066_883_1),
            ("a", "ab", 0.555_555_555_555_555_6),
            ("xyz", "abc", 0.0),
            ("Água potável: 12,5 litros", "Agua potavel: 12.5 litros", 0.571_006_653_591_824_7),
            ("", "abc", 0.0),
            ("道路は閉鎖されています。", "道路は通行止めです。", 0.153_166_349_673_804_1),
        ] {
            let found = chrf2(text, reference);
            assert!((found - score).abs() < 1e-12, "{text}: {found}");
        }
    }
}
