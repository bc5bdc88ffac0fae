//! What finds a breach of each kind of rule.

use std::collections::BTreeSet;

use super::house::{File, House, Kind, Rust};
use super::lexer::line_of;
use super::patterns::{in_scope, names};
use super::rules::{Looks, RULES, Rule};

/// A breach of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Breach {
    pub(crate) rule: &'static str,
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) found: String,
}

/// Every breach of every rule, in the order of the table.
pub(crate) fn check(house: &House) -> Vec<Breach> {
    RULES.iter().flat_map(|rule| house.files.iter().flat_map(move |file| breaches(rule, house, file))).collect()
}

fn breaches(rule: &Rule, house: &House, file: &File) -> Vec<Breach> {
    let found = match (&rule.looks, &file.kind) {
        (Looks::Arrow { from, to }, _) if in_scope(from, &file.path) => named(file, to),
        (Looks::Pure { to }, Kind::Rust(rust)) if is_pure(&file.path, rust) => named(file, to),
        (Looks::Siblings { folder, module, shared }, Kind::Rust(rust)) => {
            siblings(house, file, rust, (folder, module, shared))
        }
        (Looks::ForeignState, Kind::Rust(rust)) => foreign_state(file, rust),
        (Looks::FilePath { from, ends }, Kind::Rust(rust)) if in_scope(from, &file.path) => file_paths(rust, ends),
        (Looks::Keyword(keyword), Kind::Rust(rust)) => keywords(rust, keyword),
        (Looks::CallInTest(names), _) => calls_in_test(file, names),
        (Looks::Length { of, lines }, Kind::Rust(rust)) if in_scope(of, &file.path) => length(file, rust, *lines),
        (Looks::WorkspaceLints, Kind::Manifest(manifest)) if manifest.is_package && !manifest.workspace_lints => {
            vec![(1, "no `[lints] workspace = true`".to_owned())]
        }
        _ => Vec::new(),
    };
    let breach = |(line, found)| Breach { rule: rule.name, path: file.path.clone(), line, found };
    found.into_iter().map(breach).collect()
}

type Found = Vec<(usize, String)>;

/// What product code, or the dependencies of a package, name of `to`.
fn named(file: &File, to: &[&str]) -> Found {
    match &file.kind {
        Kind::Rust(rust) => {
            product(file, rust).filter(|(_, path)| to.iter().any(|to| names(to, path))).map(shown).collect()
        }
        Kind::Manifest(manifest) => manifest
            .dependencies
            .iter()
            .filter(|dependency| {
                !dependency.dev && to.iter().any(|to| names(to, std::slice::from_ref(&dependency.name)))
            })
            .map(|dependency| (dependency.line, format!("depends on {}", dependency.name)))
            .collect(),
        Kind::Python => Vec::new(),
    }
}

fn product<'a>(file: &'a File, rust: &'a Rust) -> impl Iterator<Item = (usize, &'a [String])> {
    rust.references
        .iter()
        .filter(|reference| !rust.is_test(reference.at))
        .map(|reference| (line_of(&file.text, reference.at), reference.path.as_slice()))
}

fn shown((line, path): (usize, &[String])) -> (usize, String) {
    (line, path.join("::"))
}

fn is_pure(path: &str, rust: &Rust) -> bool {
    let says_so = rust.header.split(|c: char| !c.is_alphanumeric()).any(|word| word == "Pure");
    path.ends_with("/state.rs") || says_so
}

fn siblings(house: &House, file: &File, rust: &Rust, (folder, module, shared): (&str, &[&str], &[&str])) -> Found {
    let child = |path: &str| -> Option<String> {
        let inside = path.strip_prefix(folder)?.split('/').next()?;
        Some(inside.trim_end_matches(".rs").to_owned()).filter(|name| name != "mod")
    };
    let Some(own) = child(&file.path) else { return Vec::new() };
    let all: BTreeSet<String> = house.files.iter().filter_map(|file| child(&file.path)).collect();
    product(file, rust)
        .filter(|(_, path)| {
            let inside = path.len() > module.len() && path.iter().zip(module).all(|(a, b)| a == b);
            // A glob over the parent names all of them.
            inside
                && path.get(module.len()).is_some_and(|name| {
                    name == "*" || *name != own && all.contains(name) && !shared.contains(&name.as_str())
                })
        })
        .map(shown)
        .collect()
}

fn foreign_state(file: &File, rust: &Rust) -> Found {
    let Some(inside) = file.path.strip_prefix("actors/src/") else { return Vec::new() };
    let own = inside.split('/').next().unwrap_or(inside).trim_end_matches(".rs");
    product(file, rust)
        .filter(|(_, path)| matches!(path, [root, feature, state, ..] if root == "muster_actors" && feature != own && state == "state"))
        .map(shown)
        .collect()
}

fn file_paths(rust: &Rust, ends: &str) -> Found {
    let is_path = |literal: &str| {
        let inner = literal.split_once('"').and_then(|(_, rest)| rest.rsplit_once('"')).map_or("", |(inner, _)| inner);
        // A sentence that names the file is how an error says what to mend.
        !inner.contains(char::is_whitespace) && (inner == ends || inner.ends_with(&format!("/{ends}")))
    };
    rust.literals
        .iter()
        .filter(|(at, literal)| !rust.is_test(*at) && is_path(literal))
        .map(|(at, literal)| (line_of(&rust.code, *at), literal.clone()))
        .collect()
}

fn keywords(rust: &Rust, keyword: &str) -> Found {
    rust.tokens()
        .iter()
        // A raw identifier, such as a field of another's, is no keyword.
        .filter(|token| {
            token.text == keyword && !rust.code.get(..token.at).is_some_and(|before| before.ends_with("r#"))
        })
        .map(|token| (line_of(&rust.code, token.at), keyword.to_owned()))
        .collect()
}

fn calls_in_test(file: &File, names: &[&str]) -> Found {
    match &file.kind {
        Kind::Rust(rust) => {
            let tokens = rust.tokens();
            let calls = tokens.windows(3).filter(|window| match window {
                [before, name, open] => {
                    names.contains(&name.text) && open.text == "(" && before.text != "fn" && rust.is_test(name.at)
                }
                _ => false,
            });
            calls.map(|window| (line_of(&rust.code, window[1].at), format!("{}(", window[1].text))).collect()
        }
        Kind::Python if file.path.contains("tests/") => {
            let lines = file.text.lines().enumerate();
            let without_comment = lines.map(|(number, line)| (number + 1, line.split('#').next().unwrap_or(line)));
            let calls = without_comment.filter(|(_, line)| line.contains("sleep("));
            calls.map(|(number, line)| (number, line.trim().to_owned())).collect()
        }
        _ => Vec::new(),
    }
}

fn length(file: &File, rust: &Rust, most: usize) -> Found {
    let tests = if rust.only_tests { None } else { rust.tests.ranges.first() };
    let end = tests.map_or(file.text.len(), |range| range.start);
    let lines = file.text[..end].lines().count();
    if lines > most { vec![(most + 1, format!("{lines} lines, {most} at most"))] } else { Vec::new() }
}
