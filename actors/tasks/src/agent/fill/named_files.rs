//! Files that a text names, in place of the contents of params.

use std::ops::Range;

use muster_engines::grammar::{Member, Prim, Type};
use serde_json::{Map, Value, json};

use super::Search;
use super::groups::takes_contents;
use super::labels::{places, plain};
use super::rules::Prose;
use crate::agent::file_table::{TABLES, ends_with, is_fields};
use crate::agent::parameter::{Parameter, ParameterDefault};
use crate::agent::reference::Head;

const CODE: &[&str] =
    &["rs", "py", "js", "mjs", "ts", "tsx", "jsx", "go", "java", "c", "h", "cc", "cpp", "hpp", "rb", "php", "sh"];
const PROSE: &[&str] = &["txt", "md", "eml", "rst", "log"];
const BINARIES: &[&str] = &["exe", "dll", "so", "bin", "elf", "o", "ko", "hex", "uf2", "img"];
/// Other endings of files that hold text.
const OTHERS: &[&str] = &["xml", "lock", "info", "tap", "mod"];
/// Endings of the files that hold the content of a param, by its name.
const CONTENTS: &[(&str, &[&str])] = &[
    ("source", CODE),
    ("patch", &["patch", "diff"]),
    ("csv", &["csv", "tsv"]),
    ("sheet_csv", &["csv", "tsv"]),
    ("config", &["yaml", "yml", "toml", "json", "conf", "cfg", "ini", "env", "service", "xml", "config"]),
    ("html", &["html", "htm"]),
    ("sql", &["sql"]),
    ("policy", &["rego"]),
    ("ics", &["ics"]),
    ("pdf", &["pdf"]),
    ("image", &["png", "jpg", "jpeg", "gif", "webp", "bmp"]),
    ("spreadsheet", &["xlsx", "xls", "ods"]),
    ("certificate", &["pem", "crt", "cer"]),
    ("bibliography", &["bib", "ris"]),
    ("template", &["j2", "jinja", "jinja2", "tmpl"]),
    ("file", BINARIES),
    ("old_image", BINARIES),
    ("new_image", BINARIES),
    ("openapi", &["json"]),
    ("schema", &["json"]),
    ("document", &["json", "jsonl", "csv"]),
    ("lines", &["log"]),
    ("trace", &["log", "txt"]),
    ("text", PROSE),
    ("report", PROSE),
    ("notes", PROSE),
    ("strings_text", PROSE),
    ("content", PROSE),
    ("payload", PROSE),
    ("answer", PROSE),
];
/// A text that stands for itself unless it is short and names one file, in bytes.
const MAX_REQUEST: usize = 400;
const MAX_SHORT: usize = 120;
/// Longest distance between the name of a param and its column, in bytes.
const MAX_GAP: usize = 60;
/// Phrases that leave out rows without a value.
const SKIPPING: &[&str] =
    &["skip missing", "skip rows without", "leave out missing", "ignore missing", "leave out rows without"];
/// Words before `column` that do not name it.
const ARTICLES: &[&str] =
    &["the", "a", "an", "this", "that", "each", "every", "one", "numeric", "in", "of", "and", "as", "is"];

/// A file that the text names.
struct Named<'t> {
    path: &'t str,
    span: Range<usize>,
}

pub(super) fn fill(search: &mut Search<'_>, prose: &Prose) {
    let mut found = named(&prose.text);
    tables(search, prose, &mut found);
    contents(search, prose, &mut found);
    lists(search, &mut found);
    single(search, &mut found);
}

/// The files that a text names, each once.
fn named(text: &str) -> Vec<Named<'_>> {
    let known = |extension: &str| {
        let contents = CONTENTS.iter().flat_map(|(_, extensions)| extensions.iter());
        contents.chain(OTHERS).chain(TABLES).any(|known| known.eq_ignore_ascii_case(extension))
    };
    let is_file = |token: &&str| {
        let stem = token.rsplit_once('.').filter(|(stem, _)| !stem.is_empty());
        stem.is_some_and(|(_, extension)| known(extension))
            && token.len() <= 512
            && !token.contains("//")
            && token.chars().all(|c| c.is_alphanumeric() || matches!(c, '/' | '_' | '-' | '.' | '+'))
    };
    let mut found: Vec<Named<'_>> = Vec::new();
    let mut from = 0;
    for token in text.split_whitespace() {
        let at = text.get(from..).and_then(|rest| rest.find(token)).map_or(from, |at| from + at);
        from = at + token.len();
        let path =
            token.trim_matches(['"', '`', '\'', '(', ')', '[', ']', ',', ';', ':', '!', '?']).trim_end_matches('.');
        let start = at + token.find(path).unwrap_or(0);
        if is_file(&path) && !found.iter().any(|known| known.path == path) {
            found.push(Named { path, span: start..start + path.len() });
        }
    }
    found
}

/// Whether a param has the instruction itself as its value, if nothing else is given.
fn is_instruction(parameter: &Parameter) -> bool {
    matches!(&parameter.default, ParameterDefault::Bound(..))
        && parameter.references().iter().all(|reference| reference.head == Head::Task)
}

/// Contents: the only file with an ending that is usual for the param. Where the instruction is itself what the agent reads,
/// as a message with its attachments, only a short one that names one file asks for that file.
fn contents(search: &mut Search<'_>, prose: &Prose, found: &mut Vec<Named<'_>>) {
    let parameters = search.parameters;
    let is_request = match (&found[..], parameters.iter().any(is_instruction)) {
        (_, false) => true,
        ([file], true) => {
            let quoted = search.text.contains(&format!("`{}`", file.path));
            let length = search.text.len();
            length <= MAX_SHORT || (length <= MAX_REQUEST && (quoted || file.path.contains('/')))
        }
        _ => false,
    };
    for parameter in parameters {
        if !search.open.contains(parameter.name.as_str()) {
            continue;
        }
        let missing = search.missing.contains(parameter.name.as_str());
        let optional = is_request
            && match &parameter.default {
                ParameterDefault::Optional => true,
                ParameterDefault::Default(value) => crate::agent::reference::is_empty(value),
                _ => is_instruction(parameter),
            };
        if !missing && !optional {
            continue;
        }
        let Some((_, extensions)) = CONTENTS.iter().find(|(name, _)| *name == parameter.name) else { continue };
        let fitting: Vec<&Named<'_>> = found.iter().filter(|file| ends_with(file.path, extensions)).collect();
        // Of several the one after the param's name.
        let all: Vec<&Parameter> = parameters.iter().collect();
        let labels = places(&prose.plain, parameter, &all);
        let labelled = |file: &&Named<'_>| {
            labels.iter().any(|label| label.span.end <= file.span.start && file.span.start - label.span.end <= MAX_GAP)
        };
        let chosen = match &fitting[..] {
            [one] => Some(*one),
            several => several.iter().copied().find(|file| labelled(file)),
        };
        let Some((path, span)) = chosen.map(|file| (file.path, file.span.clone())) else { continue };
        if search.take(parameter, json!({ "file": path }), "rule", span) {
            found.retain(|file| file.path != path);
        }
    }
}

/// Whether a param is a list of records that files complete by their paths.
fn takes_paths(parameter: &Parameter) -> bool {
    parameter.is_list_of(json!({ "path": "a" }))
}

/// A list of files, each with its path, takes all that are left.
fn lists(search: &mut Search<'_>, found: &mut Vec<Named<'_>>) {
    let lists: Vec<&Parameter> = search.missing().filter(|param| takes_paths(param)).collect();
    if let ([list], Some((first, last))) = (&lists[..], found.first().zip(found.last())) {
        let files: Value = found.iter().map(|file| json!({ "path": file.path })).collect();
        if search.take(list, files, "rule", first.span.start..last.span.end) {
            found.clear();
        }
        return;
    }
    // Records of a name and its content, as reports of tests.
    let reports: Vec<&Parameter> = search.missing().filter(|param| takes_contents(param)).collect();
    if let ([list], Some((first, last))) = (&reports[..], found.first().zip(found.last())) {
        let file = |file: &Named<'_>| json!({ "name": file.path, "content": { "file": file.path } });
        let files = found.iter().map(file).collect();
        if search.take(list, files, "rule", first.span.start..last.span.end) {
            found.clear();
        }
    }
}

/// The only file for the only text that is missing.
fn single(search: &mut Search<'_>, found: &mut [Named<'_>]) {
    let texts: Vec<&Parameter> = search
        .missing()
        .filter(|param| matches!(param.kind, Type::Prim(Prim::String | Prim::Bytes)))
        .filter(|param| CONTENTS.iter().any(|(name, _)| *name == param.name))
        .collect();
    if let ([text], [one]) = (&texts[..], &found[..]) {
        let (path, span) = (one.path, one.span.clone());
        search.take(text, json!({ "file": path }), "rule", span);
    }
}

/// Lists and tables: the columns that the text names, of the only table that it names.
fn tables(search: &mut Search<'_>, prose: &Prose, found: &mut Vec<Named<'_>>) {
    let parameters = search.parameters;
    let takes_table = |parameter: &&Parameter| {
        search.missing.contains(parameter.name.as_str())
            && match &parameter.kind {
                Type::Array(item) if **item == Type::Prim(Prim::Any) => true,
                Type::Array(item) => **item != Type::Prim(Prim::String) && !takes_paths(parameter),
                Type::Map(item) => matches!(**item, Type::Array(_)) && !is_fields(&parameter.kind),
                _ => false,
            }
    };
    let wanted: Vec<&Parameter> = parameters.iter().filter(takes_table).collect();
    let files: Vec<&Named<'_>> = found.iter().filter(|file| ends_with(file.path, TABLES)).collect();
    let ([file], false) = (&files[..], wanted.is_empty()) else { return };
    let (path, span) = (file.path, file.span.clone());
    // A text that takes the table itself, as a CSV to profile, leaves nothing to choose.
    let all: Vec<&Parameter> = parameters.iter().collect();
    let mut taken = false;
    for parameter in &wanted {
        let labels = places(&prose.plain, parameter, &all);
        let after = labels.iter().find_map(|label| {
            let end = (label.span.end + MAX_GAP).min(prose.text.len());
            let near = prose.text.get(label.span.end..prose.text.floor_char_boundary(end))?;
            let near = near.split(['.', ';', '\n']).next().unwrap_or_default();
            columns(near).into_iter().next()
        });
        let chosen = match (after, wanted.len()) {
            (Some(name), _) => vec![name],
            (None, 1) => columns(&prose.text),
            (None, _) => continue,
        };
        let mut value = reference(path, &parameter.kind, &chosen, by(&prose.plain, &prose.text));
        if SKIPPING.iter().any(|phrase| prose.plain.contains(phrase))
            && let Some(object) = value.as_object_mut()
        {
            object.insert("skip_missing".to_owned(), true.into());
        }
        taken |= search.take(parameter, value, "rule", span.clone());
    }
    if taken {
        found.retain(|file| file.path != path);
    }
}

/// A reference to the columns of a file that a type takes.
fn reference(path: &str, kind: &Type, columns: &[String], by: Option<String>) -> Value {
    let mut object = Map::new();
    object.insert("file".to_owned(), path.into());
    let nested = match kind {
        Type::Array(item) => matches!(**item, Type::Array(_)),
        Type::Map(_) => true,
        _ => false,
    };
    let has_value = |members: &Vec<Member>| members.iter().any(|member| member.name == "value");
    let records = matches!(kind, Type::Array(item) if matches!(&**item, Type::Record(members) if !has_value(members)));
    match (columns, by.filter(|_| nested && matches!(kind, Type::Array(_)))) {
        ([column, ..], Some(by)) => {
            object.insert("column".to_owned(), column.as_str().into());
            object.insert("by".to_owned(), by.into());
        }
        (columns, _) if nested && !columns.is_empty() => {
            object.insert("columns".to_owned(), columns.iter().map(String::as_str).collect());
        }
        ([column], _) if !records => drop(object.insert("column".to_owned(), column.as_str().into())),
        _ => {}
    }
    Value::Object(object)
}

/// The columns that a text names: "column `a`", "columns a, b and c", "the a column".
fn columns(text: &str) -> Vec<String> {
    let lower = plain(text);
    for word in ["columns", "column"] {
        let Some(span) = super::labels::occurrences(&lower, word).next() else { continue };
        let rest = text.get(span.end..).unwrap_or_default();
        let mut names = Vec::new();
        let mut rest = rest.trim_start_matches([' ', ':', '=']);
        while let Some((name, after)) = name(rest) {
            names.push(name.to_owned());
            let next = after.trim_start().trim_start_matches(',').trim_start();
            let next = next.strip_prefix("and ").unwrap_or(next);
            if word == "column" || next.len() == after.trim_start().len() {
                break;
            }
            rest = next;
        }
        if names.first().is_none_or(|first| word == "column" && ARTICLES.contains(&first.as_str())) {
            let before = text.get(..span.start).unwrap_or_default().trim_end();
            let last = before.rsplit(char::is_whitespace).next().unwrap_or_default();
            let last = last.trim_matches(['`', '"', '\'', '“', '”']);
            names = (!last.is_empty() && !ARTICLES.contains(&last)).then(|| last.to_owned()).into_iter().collect();
        }
        if !names.is_empty() {
            return names;
        }
    }
    Vec::new()
}

/// The column by which a text divides values: "grouped by feed", "by the column feed".
fn by(plain: &str, text: &str) -> Option<String> {
    for phrase in
        ["grouped by", "group by", "broken down by", "split by", "divided by", "groups by", "between the groups of"]
    {
        let Some(span) = super::labels::occurrences(plain, phrase).next() else { continue };
        let mut rest = text.get(span.end..)?.trim_start();
        for link in ["the column ", "column ", "the "] {
            rest = rest.strip_prefix(link).unwrap_or(rest);
        }
        if let Some((name, _)) = name(rest) {
            return Some(name.to_owned());
        }
    }
    None
}

/// A name at the start of a text, in quotes or as one word, and the rest.
fn name(text: &str) -> Option<(&str, &str)> {
    for (open, close) in [('`', '`'), ('"', '"'), ('\'', '\''), ('“', '”')] {
        if let Some(inner) = text.strip_prefix(open) {
            return inner.split_once(close).filter(|(name, _)| !name.is_empty());
        }
    }
    let end = text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '%' | '.'))).unwrap_or(text.len());
    let word = text.get(..end)?.trim_end_matches('.');
    (!word.is_empty()).then(|| (word, text.get(word.len()..).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_those_that_a_text_names() {
        for (text, wanted) in [
            ("the column `max temp` of a.csv", &["max temp"][..]),
            ("Use columns a, b and c_2 of x.csv.", &["a", "b", "c_2"]),
            ("forecast the passengers column of air.csv", &["passengers"]),
            ("a column chart, please", &["chart"]),
            ("nothing of the kind", &[]),
        ] {
            assert_eq!(columns(text), wanted, "{text}");
        }
        let text = "Compare weight grouped by the column feed in chicks.csv";
        assert_eq!(by(&plain(text), text).as_deref(), Some("feed"));
    }

    #[test]
    fn files_are_named_once_without_their_punctuation() {
        let paths: Vec<&str> = named("See `a/b.py`, (a/b.py) and logs/x.log! Not https://x.org/y.csv.")
            .iter()
            .map(|file| file.path)
            .collect();
        assert_eq!(paths, ["a/b.py", "logs/x.log"]);
    }
}
