//! Renders the tree as text, JSON or Markdown, from entries in traversal order.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::{Format, Kind, Listed, Totals};

pub(super) fn render(
    format: Format,
    start: &str,
    entries: &[Listed],
    languages: &BTreeMap<&'static str, Totals>,
) -> String {
    match format {
        Format::Tree => tree(start, entries),
        Format::Json => json(start, entries),
        Format::Markdown => markdown(start, entries, languages),
    }
}

/// Lines as printed by tree(1), with details per file.
fn tree(start: &str, entries: &[Listed]) -> String {
    let last = last_of_their_folders(entries);
    let mut text = format!("{}\n", plain(start));
    // For each ancestor, whether it was the last in its folder.
    let mut above: Vec<bool> = Vec::new();
    for (entry, last) in entries.iter().zip(last) {
        above.truncate(entry.depth - 1);
        above.iter().for_each(|&over| text.push_str(if over { "    " } else { "│   " }));
        text.push_str(if last { "└── " } else { "├── " });
        text.push_str(&plain(&entry.name));
        text.push_str(&reported(entry));
        text.push('\n');
        above.push(last);
    }
    let (folders, files) = counted(entries);
    let _ = writeln!(text, "\n{}, {}", many(folders, "directory", "directories"), many(files, "file", "files"));
    text
}

/// A folder whose entries are still being read.
struct Open {
    depth: usize,
    object: Map<String, Value>,
    contents: Vec<Value>,
}

/// Nested as by `tree -J`, with details per file.
fn json(start: &str, entries: &[Listed]) -> String {
    let mut top = Map::from_iter([("type".to_owned(), "directory".into()), ("name".to_owned(), start.into())]);
    let mut contents = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    for entry in entries {
        while open.last().is_some_and(|folder| folder.depth >= entry.depth) {
            close(&mut open, &mut contents);
        }
        let object = object(entry);
        match entry.kind {
            Kind::Dir => open.push(Open { depth: entry.depth, object, contents: Vec::new() }),
            _ => open.last_mut().map_or(&mut contents, |folder| &mut folder.contents).push(object.into()),
        }
    }
    while !open.is_empty() {
        close(&mut open, &mut contents);
    }
    top.insert("contents".to_owned(), contents.into());
    let (folders, files) = counted(entries);
    json!([top, { "type": "report", "directories": folders, "files": files }]).to_string()
}

/// Closes the innermost open folder.
fn close(open: &mut Vec<Open>, top: &mut Vec<Value>) {
    let Some(Open { mut object, contents, .. }) = open.pop() else { return };
    object.insert("contents".to_owned(), contents.into());
    open.last_mut().map_or(top, |folder| &mut folder.contents).push(object.into());
}

fn object(entry: &Listed) -> Map<String, Value> {
    let kind = match entry.kind {
        Kind::Dir => "directory",
        Kind::File => "file",
        Kind::Link => "link",
    };
    let mut object = Map::from_iter([("type".to_owned(), kind.into()), ("name".to_owned(), entry.name.clone().into())]);
    match &entry.target {
        Some(target) => object.insert("target".to_owned(), target.clone().into()),
        None => object.insert("size".to_owned(), entry.size.into()),
    };
    if !entry.language.is_empty() {
        object.insert("language".to_owned(), entry.language.into());
    }
    if entry.lines > 0 {
        object.insert("lines".to_owned(), entry.lines.into());
    }
    object
}

/// A nested list, and a table of the languages.
fn markdown(start: &str, entries: &[Listed], languages: &BTreeMap<&'static str, Totals>) -> String {
    let mut text = format!("# {}\n\n", code(start));
    for entry in entries {
        let slash = if entry.kind == Kind::Dir { "/" } else { "" };
        let _ = writeln!(
            text,
            "{}- {}{}",
            "  ".repeat(entry.depth - 1),
            code(&format!("{}{slash}", entry.name)),
            reported(entry)
        );
    }
    if !languages.is_empty() {
        text.push_str("\n| Language | Files | Code | Comments | Blanks |\n| --- | ---: | ---: | ---: | ---: |\n");
    }
    for (name, totals) in languages {
        let Totals { files, code, comments, blanks } = totals;
        let _ = writeln!(text, "| {name} | {files} | {code} | {comments} | {blanks} |");
    }
    text
}

/// Details after a name.
fn reported(entry: &Listed) -> String {
    match entry.kind {
        Kind::Dir => String::new(),
        Kind::Link => entry.target.as_deref().map(|target| format!(" -> {}", plain(target))).unwrap_or_default(),
        Kind::File => {
            let mut reported = vec![format!("{} B", entry.size)];
            if !entry.language.is_empty() {
                reported.push(entry.language.to_owned());
            }
            if entry.lines > 0 {
                reported.push(many(entry.lines, "line", "lines"));
            }
            format!(" ({})", reported.join(", "))
        }
    }
}

fn last_of_their_folders(entries: &[Listed]) -> Vec<bool> {
    // Backwards: the depths at which another entry follows in the same folder.
    let mut follows: Vec<bool> = Vec::new();
    let mut last: Vec<bool> = entries
        .iter()
        .rev()
        .map(|entry| {
            follows.resize(entry.depth + 1, false);
            follows.get_mut(entry.depth).is_none_or(|follows| !std::mem::replace(follows, true))
        })
        .collect();
    last.reverse();
    last
}

fn counted(entries: &[Listed]) -> (usize, usize) {
    let folders = entries.iter().filter(|entry| entry.kind == Kind::Dir).count();
    (folders, entries.len() - folders)
}

fn many(number: usize, one: &str, more: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { more })
}

/// Makes a name printable on one line: it may contain line breaks and bidirectional controls.
fn plain(name: &str) -> String {
    let odd = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut text = String::with_capacity(name.len());
    for letter in name.chars() {
        if odd(letter) { text.extend(letter.escape_default()) } else { text.push(letter) }
    }
    text
}

/// A code span (CommonMark 0.31, 6.1), whose fence is longer than any run of backticks within.
fn code(name: &str) -> String {
    let name = plain(name);
    let longest = name.split(|letter| letter != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    let space = if longest > 0 { " " } else { "" };
    format!("{fence}{space}{name}{space}{fence}")
}
