//! Passages of an entry for an embedding model.

use std::collections::HashSet;

use unicode_segmentation::UnicodeSegmentation;

/// Word pieces per passage, as estimated by [`cost`]: below the 254 that a model of 256 accepts beside its special
/// tokens.
const PASSAGE: usize = 244;
/// Maximum word pieces for the context around the value.
const AROUND: usize = 64;

/// Returns the passages of an entry (or of a query, with its text as the value); its vector is the mean of theirs.
/// Passages have nearly equal lengths, so that all words have equal weight.
///
/// They begin with the words of key and tags (of a tag `name:value` those of its value) and end with the tags
/// unchanged. The meaning of a conversation turn depends on the speaker, and a model gives most weight to a name at the
/// beginning. Digits are omitted there, as they only distract. Passages nearly always fit models of 256 word pieces;
/// one that exceeds the limit must be halved by the caller.
#[must_use]
pub fn passages(key: &str, tags: &[String], value: &str) -> Vec<String> {
    let (front, behind) = (front(key, tags, value), behind(tags));
    let available = PASSAGE.saturating_sub(cost(&front) + cost(&behind));
    let all = split(value, available);
    all.into_iter().map(|passage| [&*front, passage.trim(), &*behind].concat()).collect()
}

/// `words: `, without those that occur in the value.
fn front(key: &str, tags: &[String], value: &str) -> String {
    let parts = tags.iter().map(|tag| tag.rsplit(':').next().unwrap_or_default());
    let mut known: HashSet<String> = HashSet::new();
    let mut front = String::new();
    for word in std::iter::once(key).chain(parts).flat_map(words).filter(|word| is_meaningful(word)) {
        if cost(&front) + cost(word) > AROUND / 2 {
            break;
        }
        if known.is_empty() {
            known.extend(words(value).map(str::to_lowercase));
        }
        if known.insert(word.to_lowercase()) {
            if !front.is_empty() {
                front.push(' ');
            }
            front.push_str(word);
        }
    }
    if !front.is_empty() && !value.trim().is_empty() {
        front.push_str(": ");
    }
    front
}

fn behind(tags: &[String]) -> String {
    let mut behind = String::new();
    for tag in tags {
        if cost(&behind) + cost(tag) > AROUND / 2 {
            break;
        }
        behind.push(' ');
        behind.push_str(tag);
    }
    behind
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// At least two characters, letters only.
fn is_meaningful(word: &str) -> bool {
    word.chars().all(char::is_alphabetic) && word.chars().nth(1).is_some()
}

/// Splits into parts of nearly equal cost, at most `available` plus one word; at least one part.
fn split(text: &str, available: usize) -> Vec<&str> {
    let parts = cost(text).div_ceil(available.max(1)).max(1);
    let share = cost(text).div_ceil(parts);
    let (mut all, mut start, mut spent) = (Vec::new(), 0, 0);
    for (at, word) in text.split_word_bound_indices() {
        spent += cost(word);
        let end = at + word.len();
        if spent >= share * (all.len() + 1) && all.len() + 1 < parts {
            all.extend(text.get(start..end));
            start = end;
        }
    }
    all.extend(text.get(start..));
    all
}

/// Estimated word pieces of a text, rather too many: MiniLM's vocabulary is English, with six letters or more per piece
/// on average; other scripts are split into letters.
fn cost(text: &str) -> usize {
    let (mut cost, mut letters) = (0, 0);
    for c in text.chars() {
        if c.is_alphabetic() && c < '\u{250}' {
            cost += usize::from(letters % 6 == 0);
            letters += 1;
            continue;
        }
        letters = 0;
        cost += match c {
            // A Hangul syllable is split into its two or three letters.
            '\u{ac00}'..='\u{d7a3}' => 3,
            c if c.is_whitespace() => 0,
            _ => 1,
        };
    }
    cost
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tags(tags: &[&str]) -> Vec<String> {
        tags.iter().map(|&tag| tag.to_owned()).collect()
    }

    #[test]
    fn passages_begin_with_words_of_key_and_tags_without_digits() {
        let all = passages("26:D1:3", &tags(&["conv:26", "session:1", "speaker:Caroline"]), "I went there yesterday.");
        assert_eq!(all, ["Caroline: I went there yesterday. conv:26 session:1 speaker:Caroline"]);
    }

    #[test]
    fn words_that_occur_in_the_value_are_not_repeated() {
        let all = passages("user.colour", &tags(&["speaker:Mel"]), "Mel: my colour is blue");
        assert_eq!(all, ["user: Mel: my colour is blue speaker:Mel"]);
        assert_eq!(passages("", &[], "what is it"), ["what is it"]);
        assert_eq!(passages("note", &[], ""), ["note"]);
        assert_eq!(passages("", &[], ""), [""]);
    }

    #[test]
    fn long_values_are_split_between_words_into_equal_parts() {
        let all = passages("k", &[], &"shorter words come first ".repeat(100));
        assert_eq!(all.len(), 3, "500 pieces, 244 of them in a passage at most");
        assert!(
            all.iter()
                .all(|passage| passage.split(' ').all(|word| ["shorter", "words", "come", "first"].contains(&word)))
        );
        let lengths: Vec<usize> = all.iter().map(|passage| passage.split(' ').count()).collect();
        assert!(lengths.iter().max().unwrap() - lengths.iter().min().unwrap() <= 2, "{lengths:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn passages_contain_the_whole_value(key in ".{0,40}", tag in prop::collection::vec(".{0,40}", 0..4), value in "(\\PC| ){0,800}") {
            let all = passages(&key, &[], &value);
            let kept: String = all.iter().flat_map(|passage| passage.chars()).filter(|c| !c.is_whitespace()).collect();
            let expected: String = value.chars().filter(|c| !c.is_whitespace()).collect();
            if all.len() == 1 {
                prop_assert!(kept.ends_with(&expected));
            }
            prop_assert!(kept.len() >= expected.len());
            for passage in passages(&key, &tag, &value) {
                prop_assert!(cost(&passage) <= 254 + 40, "{}", cost(&passage));
            }
        }
    }
}
