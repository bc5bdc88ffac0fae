//! JSONPath (RFC 9535) with a limit on visited nodes.

use serde_json::Value;
use serde_json_path::{JsonPath, NormalizedPath, PathElement};

use super::{MAX_NODES, MAX_VALUES, Output, depth, nodes, wrong};
use muster_engine::Failure;

/// Maximum number of visited nodes, as estimated beforehand.
const MAX_WORK: f64 = 2e7;
/// Maximum nesting of brackets: the parser tries each in several ways.
const MAX_NESTED: usize = 12;

pub fn select(document: &Value, query: &str) -> Result<Output, Failure> {
    let size = Size { nodes: nodes(document) as f64, depth: depth(document) as f64 };
    let scan = scan(query, &size);
    if scan.nested > MAX_NESTED {
        return Err(wrong(format!("has more than {MAX_NESTED} brackets within one another")));
    }
    if scan.work > MAX_WORK {
        let why =
            "the query may look at more than 20 million nodes of this document: name more of the path, use fewer ..";
        return Err(Failure::too_large(why));
    }
    let path = JsonPath::parse(query).map_err(|error| wrong(format!("is no JSONPath (RFC 9535): {error}")))?;
    let found = path.query_located(document);
    let mut output = Output { count: found.len(), ..Output::default() };
    let mut remaining = MAX_NODES;
    for node in found.iter().take(MAX_VALUES) {
        let Some(left) = remaining.checked_sub(nodes(node.node())) else { break };
        remaining = left;
        output.values.push(node.node().clone());
        output.locations.push(normalized(node.location()));
    }
    Ok(output)
}

/// RFC 9535, section 2.7: single quotes, and escapes for what cannot be seen.
fn normalized(path: &NormalizedPath<'_>) -> String {
    let mut text = String::from("$");
    for element in path.iter() {
        match element {
            PathElement::Index(index) => text.push_str(&format!("[{index}]")),
            PathElement::Name(name) => {
                text.push_str("['");
                name.chars().for_each(|letter| escape(letter, &mut text));
                text.push_str("']");
            }
        }
    }
    text
}

fn escape(letter: char, text: &mut String) {
    match letter {
        '\u{8}' => text.push_str("\\b"),
        '\t' => text.push_str("\\t"),
        '\n' => text.push_str("\\n"),
        '\u{c}' => text.push_str("\\f"),
        '\r' => text.push_str("\\r"),
        '\'' => text.push_str("\\'"),
        '\\' => text.push_str("\\\\"),
        '\0'..='\u{1f}' => text.push_str(&format!("\\u{:04x}", u32::from(letter))),
        letter => text.push(letter),
    }
}

struct Size {
    nodes: f64,
    depth: f64,
}

struct Scan {
    nested: usize,
    work: f64,
}

/// Upper estimate of the number of visited nodes, without a parse.
///
/// A node is reached from its parent; over `..` from each ancestor; and once per selector of a bracket. A query in a
/// filter that begins at `$` runs once per filtered node.
fn scan(query: &str, size: &Size) -> Scan {
    let mut scan = Scan { nested: 0, work: size.nodes };
    let mut quote = None;
    let (mut open, mut filters) = (Vec::new(), 0_usize);
    let (mut from_root, mut before) = (false, ' ');
    let mut letters = query.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(_), '\\') => drop(letters.next()),
            (Some(end), letter) if end == letter => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(letter),
            (None, '[' | '(') => open.push((letter, 1.0, 0_usize)),
            (None, ']' | ')') => {
                if let Some((_, selectors, inner)) = open.pop() {
                    scan.work *= selectors;
                    filters = filters.saturating_sub(inner);
                }
            }
            (None, ',') => {
                if let Some((_, selectors, _)) = open.last_mut().filter(|(bracket, ..)| *bracket == '[') {
                    *selectors += 1.0;
                }
            }
            (None, '?') => {
                filters += 1;
                if let Some((.., inner)) = open.last_mut() {
                    *inner += 1;
                }
            }
            (None, '$') => from_root = filters > 0,
            (None, '@') => from_root = false,
            (None, '.') if before == '.' => scan.work *= size.depth,
            _ => {}
        }
        let many = matches!(letter, '*' | ':' | '?') || (letter == '.' && before == '.');
        if quote.is_none() && from_root && many {
            scan.work *= size.nodes;
            from_root = false;
        }
        before = letter;
        scan.nested = scan.nested.max(open.len());
    }
    scan
}
