//! Bounds on the work of the HTML parser, before it runs: its algorithm walks the open elements at many tags, and opens
//! formatting elements that were not closed again in each paragraph (WHATWG HTML, section 13.2.4.3).

use muster_engine::prelude::Failure;

/// Bytes of a page.
const MAX_BYTES: usize = 1_000_000;
/// Greatest nesting, and greatest product of tags and nesting.
const MAX_DEPTH: usize = 10_000;
const MAX_STEPS: usize = 50_000_000;
/// Greatest product of tags and open formatting elements.
const MAX_REOPENED: usize = 1_000_000;

/// Elements without content, and those whose end tag is often left out and that close their like.
const FLAT: [&str; 29] = [
    "area", "base", "br", "col", "dd", "dt", "embed", "hr", "img", "input", "li", "link", "meta", "optgroup", "option",
    "p", "param", "path", "rp", "rt", "source", "tbody", "td", "tfoot", "th", "thead", "tr", "track", "wbr",
];
const FORMATTING: [&str; 14] =
    ["a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u"];

/// Refuses a page that the parser could need minutes or gigabytes for.
pub(super) fn check(html: &str) -> Result<(), Failure> {
    if html.len() > MAX_BYTES {
        return Err(Failure::too_large(format!("{} bytes of HTML, {MAX_BYTES} are allowed", html.len())));
    }
    let (mut tags, mut depth, mut deepest) = (0_usize, 0_usize, 0_usize);
    let (mut open, mut most_open) = (0_usize, 0_usize);
    let mut rest = html;
    while let Some((_, after)) = rest.split_once('<') {
        rest = after;
        if let Some(comment) = after.strip_prefix("!--") {
            rest = comment.split_once("-->").map_or(comment, |(_, rest)| rest);
            continue;
        }
        let (end, name) = match after.strip_prefix('/') {
            Some(name) => (true, name),
            None => (false, after),
        };
        let length = name.bytes().take(12).take_while(u8::is_ascii_alphanumeric).count();
        let name = name.get(..length).unwrap_or_default().to_ascii_lowercase();
        if name.is_empty() {
            continue;
        }
        tags += 1;
        if FLAT.contains(&name.as_str()) {
            continue;
        }
        let formatting = FORMATTING.contains(&name.as_str());
        if end {
            depth = depth.saturating_sub(1);
            open = open.saturating_sub(usize::from(formatting));
        } else {
            depth += 1;
            open += usize::from(formatting);
            if matches!(name.as_str(), "script" | "style") {
                let close = if name == "script" { "</script" } else { "</style" };
                rest = rest.split_once(close).map_or(rest, |(_, rest)| rest);
                depth -= 1;
            }
        }
        deepest = deepest.max(depth);
        most_open = most_open.max(open);
    }
    // A link closes an open link, and a few open elements are usual.
    if deepest > MAX_DEPTH || tags * deepest > MAX_STEPS || (most_open > 8 && tags * most_open > MAX_REOPENED) {
        return Err(Failure::too_large(format!(
            "{tags} tags nested {deepest} deep with {most_open} open formatting elements; nesting may reach {MAX_DEPTH}, tags times nesting {MAX_STEPS}, tags times formatting elements {MAX_REOPENED}"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_grow_in_the_parser_are_refused() {
        assert!(check(&"<div>".repeat(20_000)).is_err());
        assert!(check(&format!("{}{}", "<b>".repeat(500), "<p>".repeat(100_000))).is_err());
        assert!(check(&"<p><b>x</b> <a href=y>z</a>".repeat(50_000)).is_ok());
        assert!(check(&format!("<script>{}</script><p>x", "<div>".repeat(20_000))).is_ok());
    }
}
