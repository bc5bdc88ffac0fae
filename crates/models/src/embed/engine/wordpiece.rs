//! WordPiece tokenizer (greedy longest match first). Source: `WordpieceTokenizer` of google-research/bert
//! tokenization.py.

use std::collections::HashMap;

use super::words::{Word, words};

/// Prefix of pieces that continue a word.
const CONTINUES: &str = "##";

/// Error: the text has more pieces than the model accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLong {
    /// Lower bound of the number of pieces; the text is not tokenized to its end.
    pub(super) at_least: usize,
}

/// A WordPiece vocabulary.
#[derive(Debug)]
pub(super) struct WordPiece {
    begins: HashMap<Box<str>, u32>,
    /// Continuation pieces, without the `##`.
    continues: HashMap<Box<str>, u32>,
    /// Bytes of the longest piece.
    longest: usize,
    unknown: u32,
    begin: u32,
    end: u32,
}

impl WordPiece {
    /// Parses a `vocab.txt`: one piece per line; its id is the line number, from 0.
    pub(super) fn parse(vocabulary: &str) -> Result<Self, String> {
        let (mut begins, mut continues, mut longest) = (HashMap::new(), HashMap::new(), 0);
        for (line, id) in vocabulary.lines().zip(0_u32..) {
            let (pieces, piece) = match line.strip_prefix(CONTINUES) {
                Some(rest) if !rest.is_empty() => (&mut continues, rest),
                _ => (&mut begins, line),
            };
            longest = longest.max(piece.len());
            if pieces.insert(Box::from(piece), id).is_some() {
                return Err(format!("the piece {line:?} is there twice"));
            }
        }
        let mark = |name: &str| begins.get(name).copied().ok_or_else(|| format!("there is no piece {name}"));
        let (unknown, begin, end) = (mark("[UNK]")?, mark("[CLS]")?, mark("[SEP]")?);
        Ok(Self { begins, continues, longest, unknown, begin, end })
    }

    /// Number of pieces in the vocabulary.
    pub(super) fn len(&self) -> usize {
        self.begins.len() + self.continues.len()
    }

    /// Tokenizes a text between the two special tokens, at most `most` tokens in all. Names of special tokens in the
    /// text are plain text.
    pub(super) fn encode(&self, text: &str, most: usize) -> Result<Vec<u32>, TooLong> {
        let mut ids = vec![self.begin];
        for word in words(text) {
            match word {
                Word::Text(word) => self.split(&word, &mut ids),
                Word::TooLong => ids.push(self.unknown),
            }
            if ids.len() >= most {
                return Err(TooLong { at_least: ids.len() + 1 });
            }
        }
        ids.push(self.end);
        Ok(ids)
    }

    /// If any part of a word is unknown, the whole word is unknown.
    fn split(&self, word: &str, ids: &mut Vec<u32>) {
        let whole = ids.len();
        let (mut pieces, mut rest) = (&self.begins, word);
        while !rest.is_empty() {
            let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8()).take_while(|end| *end <= self.longest);
            let known = |end: usize| Some((*pieces.get(rest.get(..end)?)?, rest.get(end..)?));
            let Some((id, after)) = ends.filter_map(known).last() else {
                ids.truncate(whole);
                ids.push(self.unknown);
                return;
            };
            ids.push(id);
            (pieces, rest) = (&self.continues, after);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vocabulary of google-research/bert tokenization_test.py.
    const VOCABULARY: &str = "[UNK]\n[CLS]\n[SEP]\nwant\n##want\n##ed\nwa\nun\nrunn\n##ing\n,\n";

    fn pieces(text: &str) -> Vec<u32> {
        let ids = WordPiece::parse(VOCABULARY).unwrap().encode(text, 256).unwrap();
        assert_eq!((ids.first(), ids.last()), (Some(&1), Some(&2)));
        ids[1..ids.len() - 1].to_vec()
    }

    /// The examples of `test_wordpiece_tokenizer` and `test_full_tokenizer` there.
    #[test]
    fn pieces_are_those_of_berts_own_tests() {
        assert_eq!(pieces(""), [0_u32; 0]);
        assert_eq!(pieces("unwanted running"), [7, 4, 5, 8, 9]);
        assert_eq!(pieces("unwantedX running"), [0, 8, 9]);
        assert_eq!(pieces("UNwant\u{E9}d,running"), [7, 4, 5, 10, 8, 9]);
    }

    #[test]
    fn names_of_marks_are_text() {
        // "[", "sep" and "]" are not in this vocabulary.
        assert_eq!(pieces("want [SEP] want"), [3, 0, 0, 0, 3]);
    }

    #[test]
    fn a_text_is_taken_up_to_the_bound_and_refused_beyond_it() {
        let vocabulary = WordPiece::parse(VOCABULARY).unwrap();
        assert_eq!(vocabulary.encode(&"want ".repeat(254), 256).unwrap().len(), 256);
        assert_eq!(vocabulary.encode(&"want ".repeat(255), 256), Err(TooLong { at_least: 257 }));
        // Megabytes are not tokenized to their end.
        assert!(vocabulary.encode(&"want ".repeat(10_000_000), 256).is_err());
    }

    #[test]
    fn an_invalid_vocabulary_is_rejected() {
        assert!(WordPiece::parse("[UNK]\n[CLS]\n").unwrap_err().contains("[SEP]"));
        assert!(WordPiece::parse("a\na\n").unwrap_err().contains("twice"));
    }

    #[derive(serde::Deserialize)]
    struct Reference {
        tokens: Vec<Case>,
    }

    #[derive(serde::Deserialize)]
    struct Case {
        text: String,
        ids: Vec<u32>,
    }

    /// Hugging Face's `tokenizers` with the model's own tokenizer.json: see tests/fixtures/minilm_reference.py.
    #[test]
    fn tokens_are_those_of_the_reference() {
        let dir = std::env::var_os("MUSTER_MODELS_DIR").map_or_else(
            || std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models-cache"),
            std::path::PathBuf::from,
        );
        let entry = crate::manifest::Manifest::embedding_entry().unwrap();
        let Ok(vocabulary) =
            std::fs::read_to_string(entry.file(crate::manifest::FileRole::Vocabulary).unwrap().path(&dir))
        else {
            eprintln!("skipped: the model `minilm` is not there; run `make models`");
            return;
        };
        let vocabulary = WordPiece::parse(&vocabulary).unwrap();
        let reference: Reference =
            serde_json::from_str(include_str!("../../../tests/fixtures/minilm_reference.json")).unwrap();
        assert!(reference.tokens.len() > 40);
        let wrong: Vec<_> = reference
            .tokens
            .iter()
            .map(|case| (&case.text, &case.ids, vocabulary.encode(&case.text, 4096).unwrap()))
            .filter(|(_, expected, got)| *expected != got)
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
