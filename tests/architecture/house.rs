//! The files that rules are checked on: those of this repository, or a made-up few.

use std::collections::BTreeSet;
use std::path::Path;
use std::{fs, io};

use super::lexer::{self, Token};
use super::manifest::{self, Manifest};
use super::paths;

/// What a rule needs to know of one file.
#[derive(Debug)]
pub(crate) struct File {
    /// From the root of the repository, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) kind: Kind,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Rust(Rust),
    Manifest(Manifest),
    Python,
}

#[derive(Debug)]
pub(crate) struct Rust {
    pub(crate) header: String,
    pub(crate) code: String,
    pub(crate) literals: Vec<(usize, String)>,
    pub(crate) tests: lexer::TestParts,
    pub(crate) references: Vec<paths::Reference>,
    /// Nothing of it is in the product: a test, a bench, or a module that only tests have.
    pub(crate) only_tests: bool,
}

impl Rust {
    pub(crate) fn is_test(&self, at: usize) -> bool {
        self.only_tests || self.tests.ranges.iter().any(|range| range.contains(&at))
    }

    pub(crate) fn tokens(&self) -> Vec<Token<'_>> {
        lexer::tokens(&self.code)
    }
}

#[derive(Debug, Default)]
pub(crate) struct House {
    pub(crate) files: Vec<File>,
}

impl House {
    pub(crate) fn of<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut house = Self::default();
        for (path, text) in files {
            house.add(path.to_owned(), text.to_owned());
        }
        house.mark_test_modules();
        house
    }

    /// Reads the repository; what builds and runs leave behind is passed over.
    pub(crate) fn read(root: &Path) -> io::Result<Self> {
        let mut house = Self::default();
        house.read_folder(root, root)?;
        house.mark_test_modules();
        Ok(house)
    }

    fn read_folder(&mut self, root: &Path, folder: &Path) -> io::Result<()> {
        let mut entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            // Cargo marks its target folder, whatever that is called.
            let left_behind = name.starts_with('.')
                || matches!(
                    name.as_str(),
                    "target" | "node_modules" | "models-cache" | "data" | "workspace" | "__pycache__"
                )
                || path.join("CACHEDIR.TAG").exists();
            if entry.file_type()?.is_dir() {
                if !left_behind {
                    self.read_folder(root, &path)?;
                }
            } else if name == "Cargo.toml" || name.ends_with(".rs") || name.ends_with(".py") {
                let inside = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
                self.add(inside, fs::read_to_string(&path)?);
            }
        }
        Ok(())
    }

    fn add(&mut self, path: String, text: String) {
        let kind = if path.ends_with("Cargo.toml") {
            Kind::Manifest(manifest::parse(&text))
        } else if path.ends_with(".py") {
            Kind::Python
        } else {
            Kind::Rust(rust(&path, &text))
        };
        self.files.push(File { path, text, kind });
    }

    /// `#[cfg(test)] mod world;` makes `world.rs`, and all below it, a test.
    fn mark_test_modules(&mut self) {
        let mut places = BTreeSet::new();
        for file in &self.files {
            if let Kind::Rust(rust) = &file.kind {
                let folder = children_of(&file.path);
                places.extend(rust.tests.modules.iter().map(|name| format!("{folder}{name}")));
            }
        }
        for file in &mut self.files {
            if let Kind::Rust(rust) = &mut file.kind {
                rust.only_tests |= places
                    .iter()
                    .filter_map(|place| file.path.strip_prefix(place.as_str()))
                    .any(|rest| rest == ".rs" || rest.starts_with('/'));
            }
        }
    }
}

/// The folder, with a `/` behind it, in which a file's child modules are.
fn children_of(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').map_or(("", path), |(folder, name)| (folder, name));
    match name {
        "mod.rs" | "lib.rs" | "main.rs" => format!("{folder}/"),
        _ => format!("{folder}/{}/", name.trim_end_matches(".rs")),
    }
}

fn rust(path: &str, text: &str) -> Rust {
    let stripped = lexer::strip(text);
    let tokens = lexer::tokens(&stripped.code);
    let tests = lexer::test_parts(&stripped.code, &tokens);
    let references = paths::references(path, &tokens);
    let only_tests = path.split('/').take(2).any(|folder| matches!(folder, "tests" | "benches" | "examples"));
    Rust {
        header: lexer::header(text),
        literals: stripped.literals,
        tests,
        references,
        only_tests,
        code: stripped.code,
    }
}
