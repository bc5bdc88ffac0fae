//! q187: repository tree and size.

mod count;
mod render;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::workspace::{self, Hidden, Traversal, Workspace};
use count::Counted;
use muster_engine::prelude::*;

#[derive(Input)]
pub struct Input {
    path: String,
    depth: f64,
    output_format: Format,
    include_hidden: bool,
    count_lines: bool,
    max_entries: f64,
}

#[derive(Clone, Copy, Words)]
enum Format {
    Tree,
    Json,
    Markdown,
}

#[derive(Output)]
pub struct Output {
    output: String,
    entries: Vec<Listed>,
    languages: BTreeMap<&'static str, Totals>,
    total_size: u64,
    truncated: bool,
}

#[derive(Output)]
struct Listed {
    /// Relative to the workspace folder.
    path: String,
    kind: Kind,
    /// For a folder, the sum of what is listed below it.
    size: u64,
    /// Empty if unknown.
    language: &'static str,
    /// Code, comments and blanks; for text in an unknown language its lines; otherwise 0.
    lines: usize,
    #[wire(skip)]
    name: String,
    #[wire(skip)]
    depth: usize,
    /// Target of a link.
    #[wire(skip)]
    target: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Words)]
enum Kind {
    File,
    Dir,
    Link,
}

#[derive(Default, Output)]
struct Totals {
    files: usize,
    code: usize,
    comments: usize,
    blanks: usize,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    let workspace = Workspace::open(context)?;
    let from = workspace.find(&input.path)?;
    let hidden = if input.include_hidden { Hidden::Include } else { Hidden::Skip };
    let mut traversal = Traversal::new(&workspace, &from, input.depth as usize, hidden);
    let (mut entries, mut languages, mut truncated) = (Vec::new(), BTreeMap::<_, Totals>::new(), false);
    for entry in traversal.by_ref() {
        if entries.len() == input.max_entries as usize {
            context.warn(format!("only the first {} entries are listed: raise max_entries", entries.len()));
            truncated = true;
            break;
        }
        let mut counted = Counted::default();
        if entry.kind == workspace::Kind::File {
            let bytes = if input.count_lines { workspace.read_or_warn(&entry) } else { None };
            counted = count::count(&entry, bytes.as_deref());
            if !counted.language.is_empty() {
                languages.entry(counted.language).or_default().add(&counted);
            }
        }
        entries.push(listed(&entry, &counted));
    }
    truncated |= traversal.stopped;
    sum_folders(&mut entries);
    let total_size = entries.iter().filter(|entry| entry.kind == Kind::File).map(|entry| entry.size).sum();
    let output = render::render(input.output_format, &from.display_path(), &entries, &languages);
    Ok(Output { output, entries, languages, total_size, truncated })
}

fn listed(entry: &workspace::Entry, counted: &Counted) -> Listed {
    let kind = match entry.kind {
        workspace::Kind::File => Kind::File,
        workspace::Kind::Folder => Kind::Dir,
        workspace::Kind::Link => Kind::Link,
    };
    let name = entry.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Listed {
        path: entry.display_path(),
        kind,
        size: if kind == Kind::Dir { 0 } else { entry.size },
        language: counted.language,
        lines: counted.lines,
        name,
        // A requested file is listed as if its folder had been requested.
        depth: entry.depth.max(1),
        target: entry.target(),
    }
}

impl Totals {
    fn add(&mut self, counted: &Counted) {
        self.files += 1;
        self.code += counted.code;
        self.comments += counted.comments;
        self.blanks += counted.blanks;
    }
}

/// Sets each folder's size to the sum of the deeper entries that follow it.
fn sum_folders(entries: &mut [Listed]) {
    // Per depth: the sum since the last shallower entry, going backwards.
    let mut below = vec![0_u64; workspace::MAX_DEPTH + 2];
    for entry in entries.iter_mut().rev() {
        if entry.kind == Kind::Dir {
            entry.size = below.get_mut(entry.depth + 1).map(std::mem::take).unwrap_or_default();
        }
        if let Some(sum) = below.get_mut(entry.depth).filter(|_| entry.kind != Kind::Link) {
            *sum = sum.saturating_add(entry.size);
        }
    }
}
