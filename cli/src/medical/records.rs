//! Finds the record of an identifier in the data folder of the source tree.

use std::path::{Path, PathBuf};

/// A record, and the line of its file at which it begins.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) file: PathBuf,
    /// 0 for the whole file, whose review is a table or a key of its own.
    pub(super) line: usize,
}

/// Deepest folder below the data folder.
const DEPTH: usize = 3;
const MAX_BYTES: u64 = 8 << 20;

/// Finds a record: a file by its name or its own `id`, or an entry of a list by its `id`, if it has a review of its own.
pub(super) fn find(folder: &Path, file: Option<&Path>, id: &str) -> Result<Record, String> {
    let files = match file {
        Some(file) => vec![file.to_path_buf()],
        None => {
            let mut files = Vec::new();
            collect(folder, DEPTH, &mut files)?;
            files
        }
    };
    let mut found = Vec::new();
    for file in files {
        let size = std::fs::metadata(&file).map_err(|error| format!("{}: {error}", file.display()))?.len();
        if size > MAX_BYTES {
            return Err(format!("{}: is too large for a data file", file.display()));
        }
        let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let named = file.file_stem().is_some_and(|stem| stem == id);
        found.extend(lines_of(&text, id, named).map(|line| Record { file: file.clone(), line }));
    }
    match found.len() {
        1 => found.pop().ok_or_else(String::new),
        0 => Err(format!("{id}: no record of {} has this identifier and a review of its own", folder.display())),
        _ => {
            let names: Vec<String> = found.iter().map(|record| record.file.display().to_string()).collect();
            Err(format!("{id}: {} have this identifier: name one with --file", names.join(", ")))
        }
    }
}

fn collect(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = std::fs::read_dir(folder).map_err(|error| {
        format!("{}: {error}: run this in the source tree, or name the folder with --data", folder.display())
    })?;
    let mut paths: Vec<PathBuf> = entries.filter_map(Result::ok).map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() && depth > 0 {
            collect(&path, depth - 1, files)?;
        } else if path.extension().is_some_and(|ending| ending == "toml") {
            files.push(path);
        }
    }
    Ok(())
}

/// The line at which the record of an identifier begins in a file: 0 for the file itself.
fn lines_of(text: &str, id: &str, named: bool) -> Option<usize> {
    let own = format!("id = \"{id}\"");
    let mut begin = 0;
    let mut whole = named;
    let mut entry = None;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with("[[") {
            begin = number;
        } else if line.starts_with('[') {
            begin = usize::MAX;
        }
        if line == own {
            match begin {
                0 => whole = true,
                usize::MAX => {}
                _ => entry = Some(begin),
            }
        }
    }
    let has_review = |from: usize| {
        let lines = text.lines().skip(from);
        let of_entry = lines.enumerate().take_while(|(nth, line)| *nth == 0 || !line.trim_start().starts_with("[["));
        of_entry.into_iter().any(|(_, line)| line.trim_start().starts_with("review = "))
    };
    if whole { Some(0) } else { entry.filter(|line| has_review(*line)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "id = \"dvt\"\n\n[[rules]]\nid = \"dvt-1\"\nreview = { status = \"unreviewed\", due = \"2027-11-30\" }\n\n\
                        [[rules]]\nid = \"dvt-2\"\n\n[[sources]]\nid = \"nice\"\n\n[review]\nstatus = \"unreviewed\"\ndue = \"2027-11-30\"\n";

    #[test]
    fn a_record_is_a_file_or_an_entry_with_a_review() {
        assert_eq!(lines_of(FILE, "dvt", false), Some(0));
        assert_eq!(lines_of(FILE, "dvt-1", false), Some(2));
        assert_eq!(lines_of(FILE, "dvt-2", false), None, "it has the review of its file");
        assert_eq!(lines_of(FILE, "nice", false), None);
        assert_eq!(lines_of("language = \"en\"\n", "en", true), Some(0));
    }
}
