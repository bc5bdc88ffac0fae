//! From the alignment of tokens to one of words.
#![cfg_attr(not(feature = "translate"), allow(dead_code, reason = "only the engine has alignments"))]

/// White space as the vocabularies write it, at the beginning of a word.
const SPACE: char = '\u{2581}';

/// For each UTF-16 unit of normalised source text the index of its word; such text has [`SPACE`] before each word.
pub(crate) fn source_words(normalized: &str) -> Vec<usize> {
    let mut words = Vec::new();
    let mut started = 0_usize;
    for character in normalized.chars() {
        started += usize::from(character == SPACE);
        words.extend(std::iter::repeat_n(started.saturating_sub(1), character.len_utf16()));
    }
    words
}

/// For each UTF-16 unit of text the index of its word; white space belongs to the word after it.
pub(crate) fn target_words(text: &str) -> Vec<usize> {
    let mut words = Vec::new();
    let (mut ended, mut inside) = (0_usize, false);
    for character in text.chars() {
        let space = character.is_whitespace();
        ended += usize::from(inside && space);
        inside = !space;
        words.extend(std::iter::repeat_n(ended, character.len_utf16()));
    }
    words
}

/// Adds up what the tokens of each target word attend to, by source word, and takes the largest. `rows` holds for each
/// target token its word and the weights of the source tokens; `columns` the word of each source token.
pub(crate) fn strongest<'a>(
    words: usize,
    rows: impl Iterator<Item = (usize, &'a [f32])>,
    columns: &[Option<usize>],
) -> Vec<Option<usize>> {
    let width = columns.iter().flatten().max().map_or(0, |word| word + 1);
    let mut sums = vec![vec![0.0_f32; width]; words];
    for (word, weights) in rows {
        let Some(sum) = sums.get_mut(word) else { continue };
        for (weight, column) in weights.iter().zip(columns) {
            if let Some(cell) = column.and_then(|column| sum.get_mut(column)) {
                *cell += weight;
            }
        }
    }
    let largest = |sum: &Vec<f32>| {
        let best = sum.iter().enumerate().max_by(|one, other| one.1.total_cmp(other.1));
        best.filter(|best| *best.1 > 0.0).map(|best| best.0)
    };
    sums.iter().map(largest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_belong_to_their_words() {
        assert_eq!(source_words("\u{2581}a\u{2581}😀b"), [0, 0, 1, 1, 1, 1]);
        assert_eq!(target_words("ab  c"), [0, 0, 1, 1, 1]);
    }

    #[test]
    fn the_weights_of_a_words_tokens_are_added() {
        let columns = [Some(0), Some(1), Some(1), None];
        let rows: [(usize, &[f32]); 3] =
            [(0, &[0.4, 0.3, 0.2, 0.1]), (1, &[0.6, 0.1, 0.1, 0.2]), (0, &[0.0, 0.0, 0.1, 0.9])];
        assert_eq!(strongest(3, rows.into_iter(), &columns), [Some(1), Some(0), None]);
    }
}
