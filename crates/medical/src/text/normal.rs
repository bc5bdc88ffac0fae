//! Text to sentences of normalised words.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// A normalised word and the bytes of the text it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub word: String,
    /// Other readings of the word: what follows an elision ("l'estomac"), an
    /// Arabic word without its prefixes.
    pub also: Vec<String>,
    pub start: usize,
    pub end: usize,
    /// A comma stands between the word before and this one.
    pub comma: bool,
    /// A colon stands between the word before and this one.
    pub colon: bool,
    /// A slash stands between the word before and this one.
    pub slash: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sentence {
    pub tokens: Vec<Token>,
    /// Ends with a question mark.
    pub question: bool,
}

impl Sentence {
    /// The text from one word to another, both included.
    #[must_use]
    pub fn source<'t>(&self, text: &'t str, first: usize, last: usize) -> &'t str {
        let start = self.tokens.get(first).map_or(0, |t| t.start);
        let end = self.tokens.get(last).map_or(start, |t| t.end);
        text.get(start..end).unwrap_or("")
    }

    #[must_use]
    pub fn word(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |t| t.word.as_str())
    }
}

/// Characters without a shape of their own: they would hide words
/// ("chest\u{200b} pain").
fn invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{e0000}'..='\u{e007f}')
}

fn apostrophe(c: char) -> bool {
    matches!(c, '\'' | '’' | '‘' | 'ʼ' | '`' | '´' | '＇')
}

/// Han characters are words of their own: Chinese does not part words.
fn ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}

/// Letters that no decomposition folds, and letters of other scripts that
/// look like Latin ones where they stand between Latin ones.
fn fold(c: char) -> char {
    match c {
        'ı' => 'i',
        'ł' => 'l',
        'ø' => 'o',
        'đ' => 'd',
        // Letters that Arabic and Persian keyboards exchange.
        'ى' | 'ی' => 'ي',
        'ة' => 'ه',
        'ک' => 'ك',
        '٠'..='٩' => digit(c, '٠'),
        '۰'..='۹' => digit(c, '۰'),
        _ => c,
    }
}

fn digit(c: char, zero: char) -> char {
    char::from_digit(u32::from(c).saturating_sub(u32::from(zero)), 10).unwrap_or(c)
}

/// The article and the words of one letter that Arabic writes in front.
const ARABIC_PREFIXES: &[&str] = &["وبال", "وال", "فال", "بال", "كال", "لل", "ال", "و", "ف", "ب", "ل"];

/// A word of fewer letters than this has no prefix taken off.
const LEAST_ARABIC: usize = 3;

fn without_prefixes(word: &str) -> impl Iterator<Item = String> + '_ {
    let arabic = word.starts_with(|c: char| ('\u{620}'..='\u{64a}').contains(&c));
    let bare = ARABIC_PREFIXES.iter().filter(move |_| arabic).filter_map(|p| word.strip_prefix(p));
    bare.filter(|rest| rest.chars().count() >= LEAST_ARABIC).map(str::to_owned)
}

struct Builder {
    sentences: Vec<Sentence>,
    sentence: Sentence,
    word: String,
    /// Where an apostrophe stood in the word.
    elided: usize,
    start: usize,
    end: usize,
    comma: bool,
    colon: bool,
    slash: bool,
}

impl Builder {
    fn push(&mut self, c: char, at: usize, end: usize) {
        if self.word.is_empty() {
            self.start = at;
        }
        self.word.push(c);
        self.end = end;
    }

    fn end_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        // The buffer keeps its room for the next word.
        let word = self.word.clone();
        self.word.clear();
        let mut also: Vec<String> = without_prefixes(&word).collect();
        let elided = std::mem::take(&mut self.elided);
        if let Some(tail) = word.get(elided..).filter(|t| elided > 0 && t.chars().count() >= 3) {
            also.push(tail.to_owned());
        }
        self.sentence.tokens.push(Token {
            word,
            also,
            start: self.start,
            end: self.end,
            comma: std::mem::take(&mut self.comma),
            colon: std::mem::take(&mut self.colon),
            slash: std::mem::take(&mut self.slash),
        });
    }

    fn end_sentence(&mut self, question: bool) {
        self.end_word();
        (self.comma, self.colon, self.slash) = (false, false, false);
        if !self.sentence.tokens.is_empty() {
            let mut sentence = std::mem::take(&mut self.sentence);
            sentence.question = question;
            self.sentences.push(sentence);
        }
    }
}

/// The sentences of a text. They end at `.`, `!`, `?`, `;`, at blank lines
/// and before bullets, not at a mere line break.
#[must_use]
pub fn sentences(text: &str) -> Vec<Sentence> {
    let mut b = Builder {
        sentences: Vec::new(),
        sentence: Sentence::default(),
        word: String::new(),
        elided: 0,
        start: 0,
        end: 0,
        comma: false,
        colon: false,
        slash: false,
    };
    let mut chars = text.char_indices().peekable();
    // Only blanks since the last line break, if there was one.
    let mut line_start = false;
    while let Some((at, c)) = chars.next() {
        let end = at + c.len_utf8();
        if apostrophe(c) {
            b.elided = b.word.len();
            continue;
        }
        // The Arabic tatweel only lengthens a line.
        if invisible(c) || c == '\u{640}' {
            continue;
        }
        let next = chars.peek().map(|&(_, n)| n);
        if c == '\n' {
            b.end_word();
            if line_start {
                b.end_sentence(false);
            }
            line_start = true;
            continue;
        }
        if c.is_whitespace() {
            b.end_word();
            continue;
        }
        let bullet = line_start && matches!(c, '-' | '*' | '•' | '·' | '–');
        line_start = false;
        if bullet {
            b.end_sentence(false);
            continue;
        }
        if c.is_ascii() {
            ascii(&mut b, c, at, end, next);
            continue;
        }
        wide(&mut b, c, at, end);
    }
    b.end_sentence(false);
    b.sentences
}

fn ascii(b: &mut Builder, c: char, at: usize, end: usize, next: Option<char>) {
    let digit_next = next.is_some_and(|n| n.is_ascii_digit());
    let in_number = b.word.ends_with(|w: char| w.is_ascii_digit());
    match c {
        'a'..='z' | '0'..='9' => b.push(c, at, end),
        'A'..='Z' => b.push(c.to_ascii_lowercase(), at, end),
        '.' if in_number && digit_next => b.push('.', at, end),
        ',' if in_number && digit_next => b.push('.', at, end),
        '.' | '!' | ';' => b.end_sentence(false),
        '?' => b.end_sentence(true),
        ',' => {
            b.end_word();
            b.comma = true;
        }
        ':' => {
            b.end_word();
            b.colon = true;
        }
        '/' => {
            b.end_word();
            b.slash = true;
        }
        '%' => {
            b.end_word();
            b.push('%', at, end);
            b.end_word();
        }
        _ => b.end_word(),
    }
}

fn wide(b: &mut Builder, c: char, at: usize, end: usize) {
    match c {
        '。' | '！' | '；' | '؛' | '۔' | '｡' => return b.end_sentence(false),
        '？' | '؟' | '¿' => return b.end_sentence(c != '¿'),
        // Parts the items of a Chinese list, not its clauses.
        '、' => return b.end_word(),
        '，' | '،' => {
            b.end_word();
            b.comma = true;
            return;
        }
        '：' => {
            b.end_word();
            b.colon = true;
            return;
        }
        '•' | '·' | '●' | '◦' | '¡' => return b.end_sentence(false),
        '°' | 'º' => return b.end_word(),
        _ => {}
    }
    if c == 'ß' {
        b.push('s', at, end);
        b.push('s', at, end);
        return;
    }
    if ideograph(c) {
        b.end_word();
        b.push(c, at, end);
        b.end_word();
        return;
    }
    for folded in std::iter::once(c).nfkc().nfd() {
        if is_combining_mark(folded) {
            continue;
        }
        if !folded.is_alphanumeric() {
            b.end_word();
            continue;
        }
        for lower in folded.to_lowercase() {
            if !is_combining_mark(lower) {
                b.push(fold(lower), at, end);
            }
        }
    }
}

/// Normalises a single word or phrase, for patterns and tables.
#[must_use]
pub fn words(text: &str) -> Vec<String> {
    // Most of the lexicons' words are normalised as they stand.
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_lowercase()) {
        return vec![text.to_owned()];
    }
    sentences(text).into_iter().flat_map(|s| s.tokens).map(|t| t.word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<Vec<String>> {
        sentences(text).into_iter().map(|s| s.tokens.into_iter().map(|t| t.word).collect()).collect()
    }

    #[test]
    fn folds_case_accents_and_invisible_marks() {
        assert_eq!(all("CAN’T Bréathe ché\u{200b}st"), [["cant", "breathe", "chest"]]);
        assert_eq!(all("Ｃｈｅｓｔ"), [["chest"]]);
        assert_eq!(all("non-blanching"), [["non", "blanching"]]);
    }

    #[test]
    fn a_line_break_does_not_end_a_sentence_and_a_blank_line_does() {
        assert_eq!(all("chest\npain"), [["chest", "pain"]]);
        assert_eq!(all("chest\n\npain").len(), 2);
        assert_eq!(all("- fever\n- cough").len(), 2);
    }

    #[test]
    fn decimals_stay_in_one_word() {
        assert_eq!(all("temp 39.4. BP 86/48"), [vec!["temp", "39.4"], vec!["bp", "86", "48"]]);
        assert_eq!(all("39,4"), [["39.4"]]);
    }

    #[test]
    fn each_han_character_is_a_word() {
        assert_eq!(all("胸痛，呼吸困难。"), [["胸", "痛", "呼", "吸", "困", "难"]]);
    }

    #[test]
    fn words_know_where_they_stood() {
        let text = "Ça: chest–pain";
        let sentence = sentences(text).remove(0);
        assert_eq!(sentence.source(text, 1, 2), "chest–pain");
        assert!(sentence.tokens[1].colon);
    }
}
