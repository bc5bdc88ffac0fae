//! Sentences of a model's text with the numbers of their citations.

/// A sentence without its marks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Cited {
    pub(super) text: String,
    pub(super) cites: Vec<usize>,
}

/// Splits a text. A mark behind the full stop belongs to the sentence before it.
pub(super) fn cited_sentences(text: &str) -> Vec<Cited> {
    let mut all: Vec<Cited> = Vec::new();
    let mut current = Cited::default();
    let mut rest = text;
    let mut before: Option<char> = None;
    while let Some(c) = rest.chars().next() {
        if c == '['
            && let Some((cites, after)) = mark(rest)
        {
            let of_last = current.text.trim().is_empty();
            match all.last_mut().filter(|_| of_last) {
                Some(last) => last.cites.extend(cites),
                None => current.cites.extend(cites),
            }
            rest = after;
            continue;
        }
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
        let in_number = c == '.'
            && before.is_some_and(|c| c.is_ascii_digit())
            && rest.chars().next().is_some_and(|c| c.is_ascii_digit());
        if matches!(c, '.' | '!' | '?' | ';' | '\n' | '。' | '！' | '？' | '；') && !in_number {
            finish(&mut current, &mut all);
        } else {
            current.text.push(c);
        }
        before = Some(c);
    }
    finish(&mut current, &mut all);
    all
}

fn finish(current: &mut Cited, all: &mut Vec<Cited>) {
    let sentence = std::mem::take(current);
    if sentence.text.chars().any(char::is_alphanumeric) || !sentence.cites.is_empty() {
        all.push(sentence);
    }
}

/// Reads `[1]` or `[1, 3]` at the beginning of a text. Returns the numbers and
/// the rest.
fn mark(text: &str) -> Option<(Vec<usize>, &str)> {
    let (inside, after) = text.strip_prefix('[')?.split_once(']')?;
    let numbers: Result<Vec<usize>, _> = inside.split(',').map(|part| part.trim().parse()).collect();
    Some((numbers.ok()?, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_belong_to_their_sentence_before_and_behind_its_end() {
        let read = cited_sentences("Go now [1]. It is 1.5 cm. [2][3]\nThird, without");
        let expected = [("Go now ", vec![1]), (" It is 1.5 cm", vec![2, 3]), ("Third, without", vec![])];
        let expected = expected.map(|(text, cites)| Cited { text: text.to_owned(), cites });
        assert_eq!(read, expected);
    }

    #[test]
    fn what_is_no_number_is_no_mark() {
        let read = cited_sentences("See [note] and [1, 99].");
        assert_eq!((read[0].text.as_str(), read[0].cites.as_slice()), ("See [note] and ", &[1, 99][..]));
    }
}
