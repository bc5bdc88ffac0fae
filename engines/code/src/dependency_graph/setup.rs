//! setup.py and setup.cfg (setuptools), Pipfile and Pipfile.lock (pipenv).
//!
//! A setup.py is a program: what stands in it as literals is read, and what it computes is reported as not assessed.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use toml::Table;
use tree_sitter::Node;

use super::graph::{Graph, Key};
use super::python::{normal, want};
use crate::syntax::{self, Language};

/// Keywords of `setup` that list requirements.
const LISTS: [&str; 3] = ["install_requires", "setup_requires", "tests_require"];
/// Maximum number of nodes of a setup.py.
const MAX_NODES: usize = 200_000;

/// Reads a setup.py; returns what it computes.
pub(super) fn program(content: &str, graph: &mut Graph) -> Result<Vec<String>, String> {
    let tree = syntax::parse(content, Language::Python, "content").map_err(|failure| failure.to_string())?;
    let mut reader = Reader { source: content, names: BTreeMap::new(), unread: Vec::new() };
    let (mut setup, mut cursor) = (None, tree.walk());
    for _ in 0..MAX_NODES {
        let node = cursor.node();
        match node.kind() {
            "assignment" => reader.assign(node),
            "call" if setup.is_none() => {
                let name = node.child_by_field_name("function").map(|name| syntax::text(name, content));
                if matches!(name, Some("setup" | "setuptools.setup" | "distutils.core.setup" | "core.setup")) {
                    setup = Some(node);
                }
            }
            _ => {}
        }
        if syntax::advance(&mut cursor, syntax::Below::Enter).is_none() {
            break;
        }
    }
    let setup = setup.ok_or("has no call of setup()")?;
    let arguments = reader.keywords(setup);
    if !LISTS.iter().chain(&["extras_require", "**"]).any(|name| arguments.contains_key(name)) {
        reader.unread.push("it lists no requirements: give setup.cfg or pyproject.toml if they stand there".to_owned());
    }
    let literal = |reader: &Reader<'_>, name: &str| {
        arguments.get(name).and_then(|node| reader.strings(*node, 0)).and_then(|texts| texts.into_iter().next())
    };
    let name = literal(&reader, "name").unwrap_or_default();
    let version = literal(&reader, "version").unwrap_or_default();
    let from = (!name.is_empty()).then(|| graph.root(&normal(&name), &version));
    if arguments.contains_key("**") {
        reader.unread.push("arguments that it passes as **".to_owned());
    }
    for keyword in LISTS {
        let Some(node) = arguments.get(keyword) else { continue };
        match reader.strings(*node, 0) {
            Some(texts) => texts.iter().for_each(|text| want_lines(from.as_ref(), text, graph)),
            None => reader.unread.push(keyword.to_owned()),
        }
    }
    if let Some(extras) = arguments.get("extras_require") {
        match reader.groups(*extras) {
            Some(texts) => texts.iter().for_each(|text| want_lines(from.as_ref(), text, graph)),
            None => reader.unread.push("extras_require".to_owned()),
        }
    }
    Ok(reader.unread)
}

struct Reader<'s> {
    source: &'s str,
    /// Last value of each name.
    names: BTreeMap<&'s str, (usize, usize)>,
    unread: Vec<String>,
}

impl<'s> Reader<'s> {
    fn assign(&mut self, node: Node<'_>) {
        let (Some(left), Some(right)) = (node.child_by_field_name("left"), node.child_by_field_name("right")) else {
            return;
        };
        if left.kind() == "identifier" {
            self.names.insert(syntax::text(left, self.source), (right.start_byte(), right.end_byte()));
        }
    }

    fn keywords<'t>(&self, call: Node<'t>) -> BTreeMap<&'s str, Node<'t>> {
        let mut found = BTreeMap::new();
        let Some(arguments) = call.child_by_field_name("arguments") else { return found };
        let mut cursor = arguments.walk();
        for argument in arguments.named_children(&mut cursor) {
            match (argument.child_by_field_name("name"), argument.child_by_field_name("value")) {
                (Some(name), Some(value)) => drop(found.insert(syntax::text(name, self.source), value)),
                _ if argument.kind() == "dictionary_splat" => drop(found.insert("**", argument)),
                _ => {}
            }
        }
        found
    }

    /// Texts of a literal, a list of literals, their sum, or a name for one; `None` if anything is computed.
    fn strings(&self, node: Node<'_>, depth: usize) -> Option<Vec<String>> {
        if depth > 8 {
            return None;
        }
        match node.kind() {
            "string" => Some(vec![literal(syntax::text(node, self.source))?]),
            "concatenated_string" => {
                let mut cursor = node.walk();
                let parts: Option<Vec<String>> =
                    node.named_children(&mut cursor).map(|part| literal(syntax::text(part, self.source))).collect();
                Some(vec![parts?.concat()])
            }
            "list" | "tuple" | "set" | "parenthesized_expression" => {
                let mut cursor = node.walk();
                let mut all = Vec::new();
                for item in node.named_children(&mut cursor).filter(|item| item.kind() != "comment") {
                    all.extend(self.strings(item, depth + 1)?);
                }
                Some(all)
            }
            "binary_operator" => {
                let mut left = self.strings(node.child_by_field_name("left")?, depth + 1)?;
                left.extend(self.strings(node.child_by_field_name("right")?, depth + 1)?);
                Some(left)
            }
            "identifier" => {
                let &(start, end) = self.names.get(syntax::text(node, self.source))?;
                let mut root = node;
                while let Some(parent) = root.parent() {
                    root = parent;
                }
                let value = root.named_descendant_for_byte_range(start, end)?;
                (value.start_byte() == start && value.end_byte() == end).then(|| self.strings(value, depth + 1))?
            }
            _ => None,
        }
    }

    /// All texts of a dictionary of lists, or a name for one.
    fn groups(&self, node: Node<'_>) -> Option<Vec<String>> {
        let mut node = node;
        if node.kind() == "identifier" {
            let &(start, end) = self.names.get(syntax::text(node, self.source))?;
            while let Some(parent) = node.parent() {
                node = parent;
            }
            node = node.named_descendant_for_byte_range(start, end)?;
        }
        if node.kind() != "dictionary" {
            return None;
        }
        let mut cursor = node.walk();
        let mut all = Vec::new();
        for pair in node.named_children(&mut cursor).filter(|pair| pair.kind() != "comment") {
            all.extend(self.strings(pair.child_by_field_name("value")?, 0)?);
        }
        Some(all)
    }
}

/// The text of a string literal without values in it.
fn literal(source: &str) -> Option<String> {
    let start = source.find(['"', '\''])?;
    let (prefix, rest) = source.split_at(start);
    if prefix.to_lowercase().contains(['f', 'b']) {
        return None;
    }
    let quote = if rest.starts_with("\"\"\"") || rest.starts_with("'''") { 3 } else { 1 };
    let inner = rest.get(quote..rest.len().checked_sub(quote)?)?;
    Some(inner.replace("\\\n", "").replace("\\n", "\n").replace("\\'", "'").replace("\\\"", "\""))
}

/// Requirements, one a line.
fn want_lines(from: Option<&Key>, text: &str, graph: &mut Graph) {
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        want(from, line, graph);
    }
}

/// setup.cfg: `[metadata]` and `[options]`, with continuation lines; returns what it takes from elsewhere.
pub(super) fn config(content: &str, graph: &mut Graph) -> Vec<String> {
    let mut values: BTreeMap<(String, String), String> = BTreeMap::new();
    let (mut section, mut key) = (String::new(), String::new());
    for line in content.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = trimmed.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            (section, key) = (name.trim().to_lowercase(), String::new());
        } else if line.starts_with([' ', '\t']) && !key.is_empty() {
            let value = values.entry((section.clone(), key.clone())).or_default();
            value.push('\n');
            value.push_str(trimmed);
        } else if let Some((name, value)) = trimmed.split_once('=') {
            key = name.trim().to_lowercase();
            values.insert((section.clone(), key.clone()), value.trim().to_owned());
        }
    }
    let of = |section: &str, key: &str| {
        values.get(&(section.to_owned(), key.to_owned())).map(String::as_str).unwrap_or_default()
    };
    let name = of("metadata", "name");
    // `attr:` and `file:` name the place of a version.
    let version = Some(of("metadata", "version")).filter(|version| !version.contains(':')).unwrap_or_default();
    let from = (!name.is_empty()).then(|| graph.root(&normal(name), version));
    let mut unread = Vec::new();
    let listed = |(section, key): &(String, String)| {
        (section == "options" && LISTS.contains(&key.as_str())) || section == "options.extras_require"
    };
    if !values.keys().any(listed) {
        unread.push("it lists no requirements: give setup.py or pyproject.toml if they stand there".to_owned());
    }
    for (place, value) in &values {
        let (lists, (_, key)) = (listed(place), place);
        if lists && value.trim_start().starts_with("file:") {
            unread.push(format!("{key}, which is in {}", value.trim_start().trim_start_matches("file:").trim()));
        } else if lists {
            want_lines(from.as_ref(), value, graph);
        }
    }
    unread
}

/// Pipfile: `[packages]` and `[dev-packages]`.
pub(super) fn pipfile(content: &str, graph: &mut Graph) -> Result<(), String> {
    let table: Table = toml::from_str(content).map_err(|error| format!("is not a Pipfile: {}", error.message()))?;
    for section in ["packages", "dev-packages"].iter().filter_map(|section| table.get(*section)?.as_table()) {
        for (name, wanted) in section {
            let version = wanted.as_str().or_else(|| wanted.get("version").and_then(toml::Value::as_str));
            let version = version.filter(|version| *version != "*").unwrap_or_default();
            graph.want(None, &normal(name), version.strip_prefix("==").unwrap_or(version));
        }
    }
    Ok(())
}

/// Pipfile.lock: `default` and `develop`, each by name with a `version` such as `==1.2.3`. It does not record which
/// package needs which.
pub(super) fn pipfile_lock(content: &str, graph: &mut Graph) -> Result<(), String> {
    let lock: Json = serde_json::from_str(content).map_err(|error| format!("is not a Pipfile.lock: {error}"))?;
    let sections: Vec<_> = ["default", "develop"].iter().filter_map(|name| lock.get(*name)?.as_object()).collect();
    if sections.is_empty() {
        return Err("has no `default` and no `develop`".to_owned());
    }
    for (name, package) in sections.into_iter().flatten() {
        let version = package.get("version").and_then(Json::as_str).unwrap_or_default();
        graph.add(&normal(name), version.trim_start_matches('='));
    }
    Ok(())
}
