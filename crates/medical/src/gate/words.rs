//! Lists of words, and their forms.

use crate::text::sentences;

/// The text without characters that have no shape, which would hide words.
pub(super) fn visible(text: &str) -> String {
    let hidden = |c: char| {
        matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0000}'..='\u{e007f}')
            || (c.is_control() && c != '\n' && c != '\t')
    };
    text.chars().filter(|c| !hidden(*c)).collect()
}

/// Whether a text has a fitting length, no address and no markup.
pub(super) fn well_formed(text: &str, most: usize) -> bool {
    let lower = text.to_lowercase();
    let foreign = ["http:", "https:", "www.", "mailto:", "<", ">", "```", "](", "|", "\\", "{", "}"];
    !text.trim().is_empty() && text.chars().count() <= most && !foreign.iter().any(|mark| lower.contains(mark))
}

/// The numbers in a word: `500` of `500mg`.
pub(super) fn numbers(word: &str) -> impl Iterator<Item = String> + '_ {
    let runs = word.split(|c: char| !c.is_ascii_digit() && c != '.');
    runs.map(|run| run.trim_matches('.')).filter(|run| !run.is_empty()).map(plain_number)
}

/// `12.0` and `012` are 12.
fn plain_number(number: &str) -> String {
    number.parse::<f64>().map_or_else(|_| number.to_owned(), |value| value.to_string())
}

/// All words of a text in a row, with blanks around.
pub(super) fn row_of(text: &str) -> String {
    let words: Vec<String> = sentences(text).into_iter().flat_map(|s| s.tokens).map(|token| token.word).collect();
    format!(" {} ", words.join(" "))
}

/// A word without the endings of its forms: "symptoms" and "symptom" are one.
pub(super) fn stem(word: &str) -> String {
    for ending in ["ing", "edly", "ed", "ies", "es", "ly", "s", "e", "y"] {
        if let Some(rest) = word.strip_suffix(ending)
            && !(ending == "s" && rest.ends_with('s'))
            && rest.chars().count() >= 4
        {
            return rest.to_owned();
        }
    }
    word.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::lists::is_drug_like;
    use crate::gate::plain::PLAIN;

    #[test]
    fn numbers_are_read_inside_words_and_in_one_form() {
        assert_eq!(numbers("500mg").collect::<Vec<_>>(), ["500"]);
        assert_eq!(numbers("12.0").collect::<Vec<_>>(), ["12"]);
        assert_eq!(numbers("b12").collect::<Vec<_>>(), ["12"]);
        assert_eq!(numbers("mg").count(), 0);
    }

    #[test]
    fn forms_of_a_word_have_one_stem() {
        for (one, other) in
            [("symptom", "symptoms"), ("hearing", "hears"), ("sudden", "suddenly"), ("assess", "assessed")]
        {
            assert_eq!(stem(one), stem(other), "{one} {other}");
        }
        assert_eq!(stem("loss"), "loss");
    }

    #[test]
    fn no_plain_word_denies_reassures_or_is_a_drug() {
        for word in PLAIN {
            assert!(!is_drug_like(word), "{word}");
            assert!(!["no", "not", "fine", "safe", "mild", "normal", "home", "hospital"].contains(word), "{word}");
        }
    }
}
