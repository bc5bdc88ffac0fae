//! From what an engine returned to the text of a segment, if everything came back.

use std::ops::Range;

use super::align::{self, Placed};
use super::core::Spelling;
use super::inline::{Break, Inline, MARK};
use crate::marks::{self, Glossary, MarkKind, TextFormat};

/// Text that may be changed at its spaces, or what stands as it is.
enum Part {
    Text(String),
    Kept(String),
}

/// A reply on one line: no control characters, no characters of private use, white space single.
pub(super) fn clean(text: &str) -> String {
    let invisible = |it: char| it.is_control() || ('\u{e000}'..='\u{f8ff}').contains(&it);
    let text: String = text.chars().map(|it| if invisible(it) { ' ' } else { it }).collect();
    text.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// The segment's text: every mark and tag once, line ends where they were in proportion. `None` if anything is missing,
/// doubled or new.
pub(super) fn restore(
    core: &Inline,
    output: &str,
    spelling: Spelling,
    alignment: Option<&[Option<usize>]>,
    format: TextFormat,
) -> Option<String> {
    let tokens = tokens(output, spelling);
    let mut order: Vec<usize> = tokens.iter().map(|(_, index)| *index).collect();
    order.sort_unstable();
    if !order.iter().copied().eq(0..core.marks.len()) || has_new_marks(core, &without(output, &tokens)) {
        return None;
    }
    let tags = if core.tags.is_empty() { Vec::new() } else { align::place(core, output, alignment?)? };
    Some(assemble(core, output, &tokens, &tags, format))
}

/// What an engine returned for text without marks, if it holds none.
pub(super) fn plain(source: &str, output: &str, format: TextFormat) -> Option<String> {
    let core = Inline { plain: source.to_owned(), ..Inline::default() };
    (!output.is_empty() && !has_new_marks(&core, output)).then(|| escaped(output, format))
}

/// The output without its marks.
pub(super) fn words_of(output: &str, spelling: Spelling) -> String {
    without(output, &tokens(output, spelling))
}

/// Spelled marks with their numbers; case does not matter.
fn tokens(output: &str, spelling: Spelling) -> Vec<(Range<usize>, usize)> {
    let letters = spelling.letters();
    let (mut tokens, mut at) = (Vec::new(), 0);
    while let Some(rest) = output.get(at..).filter(|rest| !rest.is_empty()) {
        let matches = rest.get(..letters.len()).is_some_and(|it| it.eq_ignore_ascii_case(letters));
        let digits = rest.get(letters.len()..).unwrap_or_default().bytes().take_while(u8::is_ascii_digit).count();
        let end = at + letters.len() + digits;
        match output.get(at + letters.len()..end).and_then(|it| it.parse().ok()).filter(|_| matches && digits > 0) {
            Some(index) => {
                tokens.push((at..end, index));
                at = end;
            }
            None => at += rest.chars().next().map_or(1, char::len_utf8),
        }
    }
    tokens
}

fn without(output: &str, tokens: &[(Range<usize>, usize)]) -> String {
    let (mut text, mut at) = (String::new(), 0);
    for (range, _) in tokens {
        text.push_str(output.get(at..range.start).unwrap_or_default());
        text.push(' ');
        at = range.end;
    }
    text.push_str(output.get(at..).unwrap_or_default());
    text
}

/// Whether there is a tag, URL, address or placeholder, or the rest of a spelled mark, in an output without marks: the
/// source, whose own were taken out, had none.
fn has_new_marks(core: &Inline, text: &str) -> bool {
    let lower = text.to_lowercase();
    if lower.contains("qzx") || (lower.contains("xq") && !core.plain.to_lowercase().contains("xq")) {
        return true;
    }
    // A colon or a dollar before a word is a slip of spacing more often than a placeholder.
    let is_new = |mark: &marks::Mark| match mark.kind {
        MarkKind::Tag | MarkKind::Entity | MarkKind::Url | MarkKind::Email => true,
        MarkKind::Placeholder => text.get(mark.range.clone()).is_some_and(|it| !it.starts_with([':', '$'])),
        _ => false,
    };
    marks::find(text, TextFormat::Text, &Glossary::default()).iter().any(is_new)
}

fn escaped(text: &str, format: TextFormat) -> String {
    if format == TextFormat::Html && text.contains(['<', '>', '&']) {
        return text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    }
    text.to_owned()
}

fn assemble(
    core: &Inline,
    output: &str,
    tokens: &[(Range<usize>, usize)],
    tags: &[Placed],
    format: TextFormat,
) -> String {
    let (mut parts, mut at) = (Vec::new(), 0);
    let mut tags = tags.iter().peekable();
    let mut text_until = |end: usize, at: &mut usize, parts: &mut Vec<Part>| {
        while let Some(tag) = tags.next_if(|tag| tag.at <= end) {
            parts.push(Part::Text(escaped(output.get(*at..tag.at).unwrap_or_default(), format)));
            parts.push(Part::Kept(tag.text.clone()));
            *at = tag.at;
        }
        parts.push(Part::Text(escaped(output.get(*at..end).unwrap_or_default(), format)));
        *at = end;
    };
    for (range, index) in tokens {
        text_until(range.start, &mut at, &mut parts);
        parts.push(Part::Kept(core.marks.get(*index).cloned().unwrap_or_default()));
        at = range.end;
    }
    text_until(output.len(), &mut at, &mut parts);
    broken(parts, &core.breaks, &core.plain)
}

/// Puts line ends where they were, in proportion: at the nearest space, or between two characters of Han or Kana, which
/// are written without spaces. What finds no such place stands at the end.
fn broken(parts: Vec<Part>, breaks: &[Break], plain: &str) -> String {
    let length: usize = parts
        .iter()
        .map(|part| match part {
            Part::Text(text) | Part::Kept(text) => text.len(),
        })
        .sum();
    let mut wanted = breaks.iter().map(|line| (line.at * length.max(1) / plain.len().max(1), &line.text)).peekable();
    let mut broken = String::with_capacity(length + 16);
    let (mut at, mut before) = (0, None);
    for part in parts {
        match part {
            Part::Kept(text) => {
                at += text.len();
                before = None;
                broken.push_str(&text);
            }
            Part::Text(text) => {
                for character in text.chars() {
                    let spaceless = is_spaceless(character) && before.is_some_and(is_spaceless);
                    let place = character == ' ' || spaceless;
                    let reached = place && wanted.peek().is_some_and(|(target, _)| at + 4 >= *target);
                    match if reached { wanted.next() } else { None } {
                        Some((_, line)) => {
                            broken.push_str(line);
                            broken.extend(spaceless.then_some(character));
                        }
                        None => broken.push(character),
                    }
                    at += character.len_utf8();
                    before = Some(character);
                }
            }
        }
    }
    for (_, line) in wanted {
        broken.push_str(line);
    }
    broken
}

/// A character of Han or Kana, no punctuation.
const fn is_spaceless(character: char) -> bool {
    matches!(character, '\u{3041}'..='\u{3096}' | '\u{30a1}'..='\u{30fa}' | '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{3ffff}')
}

/// Whether plain text holds a mark.
pub(super) fn has_mark(plain: &str) -> bool {
    plain.contains(MARK)
}
