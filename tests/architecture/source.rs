//! The source files that the rules are checked on: those of this repository or of a sample.

use std::collections::BTreeSet;
use std::path::Path;
use std::{fs, io};

use super::scan::{self, Scan};

#[derive(Debug)]
pub(crate) struct SourceFile {
    /// From the root of the repository, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
    /// What a Rust file names and calls; empty for every other file.
    pub(crate) scan: Scan,
}

impl SourceFile {
    fn parse(path: String, text: String) -> Self {
        let mut scan = Scan::default();
        if path.ends_with(".rs") {
            let module = module_of(&path);
            let file = syn::parse_file(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
            scan = scan::scan(&file, module, is_test_target(&path));
        }
        Self { path, text, scan }
    }

    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// The `//!` lines at the top.
    pub(crate) fn header(&self) -> String {
        self.text.lines().map_while(|line| line.strip_prefix("//!")).collect()
    }

    /// The module that this file holds, from the name of its crate on.
    pub(crate) fn module(&self) -> Vec<String> {
        module_of(&self.path)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Sources {
    pub(crate) files: Vec<SourceFile>,
}

impl Sources {
    pub(crate) fn of<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let files = files.into_iter().map(|(path, text)| SourceFile::parse(path.to_owned(), text.to_owned()));
        let mut sources = Self { files: files.collect() };
        sources.mark_test_modules();
        sources
    }

    /// Reads the repository, except the output of builds and runs.
    pub(crate) fn read(root: &Path) -> io::Result<Self> {
        let mut sources = Self::default();
        sources.read_folder(root, root)?;
        sources.mark_test_modules();
        Ok(sources)
    }

    fn read_folder(&mut self, root: &Path, folder: &Path) -> io::Result<()> {
        let mut entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            let generated = ["target", "node_modules", "models-cache", "__pycache__"].contains(&name.as_str())
                || (folder == root && ["data", "workspace"].contains(&name.as_str()));
            if entry.file_type()?.is_dir() {
                // Cargo marks its target folder, whatever the name.
                if !generated && !name.starts_with('.') && !path.join("CACHEDIR.TAG").exists() {
                    self.read_folder(root, &path)?;
                }
            } else if name == "Cargo.toml" || name.ends_with(".rs") || name.ends_with(".py") {
                let inside = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
                self.files.push(SourceFile::parse(inside, fs::read_to_string(&path)?));
            }
        }
        Ok(())
    }

    /// `#[cfg(test)] mod samples;` makes `samples.rs`, and everything below it, test code.
    fn mark_test_modules(&mut self) {
        let modules: BTreeSet<Vec<String>> =
            self.files.iter().flat_map(|file| file.scan.test_modules.iter().cloned()).collect();
        for file in &mut self.files {
            let module = file.module();
            file.scan.only_tests |= (1..=module.len()).any(|length| modules.contains(&module[..length]));
        }
    }
}

/// The module that a file holds: `actors/limits/src/shard/state.rs` is `muster_limits::shard::state`.
fn module_of(path: &str) -> Vec<String> {
    let (package, inside) = match path.split_once("src/") {
        Some((_, inside)) if inside.starts_with("bin/") => return vec![path.to_owned()],
        Some(("", inside)) => ("muster".to_owned(), inside),
        Some((folder, inside)) => {
            let folder = folder.trim_end_matches('/');
            let name = folder.rsplit('/').next().unwrap_or(folder);
            (format!("muster_{}", name.replace('-', "_")), inside)
        }
        // A test, a bench or a build script: a separate crate.
        None => return vec![path.to_owned()],
    };
    let mut module = vec![package];
    module.extend(inside.trim_end_matches(".rs").split('/').map(str::to_owned));
    let root = module.len() == 2 && matches!(module[1].as_str(), "lib" | "main");
    if root || module.last().is_some_and(|last| last == "mod") {
        module.pop();
    }
    module
}

/// Whether the file is a test, a bench or an example: `tests/a.rs`, `crates/geo/benches/b.rs`. The load tools of the
/// benches are programs: they pace requests by sleeping.
fn is_test_target(path: &str) -> bool {
    if path.starts_with("benches/tools/") {
        return false;
    }
    let mut folders = path.split('/').take_while(|folder| *folder != "src");
    folders.any(|folder| matches!(folder, "tests" | "benches" | "examples"))
}
