//! Tags of HTML and XML: names, pairs, and elements whose content is not translated.

use super::{Mark, MarkKind};

/// Elements that are code, in any format.
const OPAQUE: &[&str] =
    &["code", "kbd", "math", "pre", "samp", "script", "style", "svg", "textarea", "tt", "var", "noscript"];
/// Elements without content.
const VOID: &[&str] =
    &["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"];
/// Elements inside a sentence; all others, known or not, end it.
const INLINE: &[&str] = &[
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "img",
    "input", "ins", "kbd", "label", "map", "mark", "math", "nobr", "q", "ruby", "s", "samp", "small", "span", "strike",
    "strong", "sub", "sup", "svg", "time", "tt", "u", "var", "wbr",
];

/// What a tag does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TagSide {
    Open,
    Close,
    /// Without content: void, self-closed, a comment.
    Alone,
}

/// Lower-case name (empty for comments and the like) and side of a tag.
pub(crate) fn parse(tag: &str) -> (String, TagSide) {
    let closing = tag.strip_prefix("</");
    let rest = closing.or_else(|| tag.strip_prefix('<')).unwrap_or_default();
    let name: String = rest.chars().take_while(|it| it.is_alphanumeric() || ":_.-".contains(*it)).collect();
    let name = name.to_lowercase();
    let side = if name.is_empty() || tag.ends_with("/>") || VOID.contains(&name.as_str()) {
        TagSide::Alone
    } else if closing.is_some() {
        TagSide::Close
    } else {
        TagSide::Open
    };
    (name, side)
}

pub(crate) fn is_inline(name: &str) -> bool {
    INLINE.contains(&name)
}

/// Whether the content of the element that this tag opens is not to be translated.
fn is_opaque(name: &str, tag: &str) -> bool {
    let tag = tag.to_lowercase();
    OPAQUE.contains(&name)
        || tag.contains("translate=\"no\"")
        || tag.contains("translate='no'")
        || tag.contains("translate=no")
        || (tag.contains("class=") && tag.contains("notranslate"))
}

/// Extends the mark of a tag that opens an element of code over the whole element; marks inside it go.
pub(super) fn extend_opaque(text: &str, marks: &mut Vec<Mark>) {
    let mut kept: Vec<Mark> = Vec::with_capacity(marks.len());
    let mut all = std::mem::take(marks).into_iter().peekable();
    while let Some(mut mark) = all.next() {
        let tag = text.get(mark.range.clone()).unwrap_or_default();
        let (name, side) = if mark.kind == MarkKind::Tag { parse(tag) } else { (String::new(), TagSide::Alone) };
        if side == TagSide::Open
            && is_opaque(&name, tag)
            && let Some(end) = element_end(text, &name, mark.range.end)
        {
            mark.range.end = end;
            while all.next_if(|inner| inner.range.start < end).is_some() {}
        }
        kept.push(mark);
    }
    *marks = kept;
}

/// Where the element ends whose content begins at `from`; elements of its own name inside it are counted.
fn element_end(text: &str, name: &str, from: usize) -> Option<usize> {
    let (mut depth, mut at) = (1_usize, from);
    while let Some(found) = text.get(at..)?.find('<') {
        at += found;
        let rest = text.get(at..)?;
        let (slash, inner) = rest.strip_prefix("</").map_or((false, rest.get(1..)?), |inner| (true, inner));
        let named = inner.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
        let ended = inner.get(name.len()..).and_then(|rest| rest.chars().next());
        if named && ended.is_some_and(|it| it == '>' || it == '/' || it.is_whitespace()) {
            let end = at + rest.find('>')? + 1;
            let alone = text.get(at..end).is_some_and(|tag| tag.ends_with("/>"));
            if slash {
                depth -= 1;
                if depth == 0 {
                    return Some(end);
                }
            } else if !alone {
                depth += 1;
            }
        }
        at += 1;
    }
    None
}
