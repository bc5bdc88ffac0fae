//! Text of comments and docstrings without their markers.

use crate::language::Language;
use crate::syntax::text;
use tree_sitter::Node;

/// Maximum length of a doc text, in characters.
const MAX_DOC: usize = 2_000;
/// Maximum number of comments before a docstring.
const BEFORE: u32 = 8;

/// Text of the comments before a definition; in Rust and Java only documentation comments.
pub(super) fn of_comments<'s>(comments: impl Iterator<Item = &'s str>, language: Language) -> String {
    let reported: Vec<String> = comments.filter(|comment| is_doc(comment, language)).map(without_marks).collect();
    short(reported.join("\n").trim())
}

fn is_doc(comment: &str, language: Language) -> bool {
    match language {
        // The Rust Reference, "Doc comments": more slashes or asterisks are plain comments.
        Language::Rust => {
            let line = comment.starts_with("///") && !comment.starts_with("////");
            let block = comment.starts_with("/**") && !comment.starts_with("/***") && comment.len() > 4;
            line || block
        }
        Language::Java => comment.starts_with("/**"),
        Language::Python => false,
        _ => true,
    }
}

fn without_marks(comment: &str) -> String {
    if let Some(block) = comment.strip_prefix("/*") {
        let block = block.strip_suffix("*/").unwrap_or(block).trim_start_matches(['*', '!']);
        let line = |line: &str| {
            let line = line.trim();
            line.strip_prefix('*').map_or(line, |line| line.strip_prefix(' ').unwrap_or(line)).to_owned()
        };
        return block.lines().map(line).collect::<Vec<_>>().join("\n").trim().to_owned();
    }
    let line = comment.trim_start_matches('/').trim_start_matches('!').trim_end();
    line.strip_prefix(' ').unwrap_or(line).to_owned()
}

/// A Python definition's docstring.
pub(super) fn docstring(node: Node<'_>, source: &str, language: Language) -> Option<String> {
    if language != Language::Python {
        return None;
    }
    let body = node.child_by_field_name("body")?;
    let first = (0..BEFORE).map_while(|at| body.named_child(at)).find(|child| child.kind() != "comment")?;
    let string = match first.kind() {
        "string" => first,
        "expression_statement" => first.named_child(0).filter(|child| child.kind() == "string")?,
        _ => return None,
    };
    docstring_of(text(string, source))
}

/// Content of a docstring literal, dedented as by `inspect.cleandoc`.
pub(super) fn docstring_of(literal: &str) -> Option<String> {
    let literal = literal.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
    let quoted = ["\"\"\"", "'''", "\"", "'"]
        .iter()
        .find_map(|mark| literal.strip_prefix(mark).map(|rest| rest.strip_suffix(mark).unwrap_or(rest)))?;
    let indent = |line: &str| line.len() - line.trim_start().len();
    let margin = quoted.lines().skip(1).filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or(0);
    let lines: Vec<&str> = quoted
        .lines()
        .enumerate()
        .map(|(at, line)| if at == 0 { line.trim_start() } else { line.get(margin..).unwrap_or_default() })
        .collect();
    Some(short(lines.join("\n").trim()))
}

fn short(doc: &str) -> String {
    match doc.char_indices().nth(MAX_DOC) {
        Some((at, _)) => format!("{}…", doc.get(..at).unwrap_or_default()),
        None => doc.to_owned(),
    }
}
