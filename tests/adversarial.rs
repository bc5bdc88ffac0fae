//! Each number of the adversarial tests has a test with its number in its name, and its row in `tests/README.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Numbers 1 to 53 (see `tests/README.md`).
const LAST: u32 = 53;

/// The number of a test's name, such as 7 of `a07_…`.
fn number(name: &str) -> Option<u32> {
    let (number, _) = name.strip_prefix('a')?.split_once('_')?;
    (number.len() == 2).then(|| number.parse().ok()).flatten()
}

/// The names of all numbered tests below a folder.
fn numbered(folder: &Path, found: &mut BTreeMap<u32, BTreeSet<String>>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') {
                numbered(&path, found);
            }
        } else if name.ends_with(".rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let names = text.lines().filter_map(|line| {
                let line = line.trim_start();
                let name = line.strip_prefix("async fn ").or_else(|| line.strip_prefix("fn "))?;
                name.split(['(', '<']).next()
            });
            for name in names {
                if let Some(number) = number(name) {
                    found.entry(number).or_default().insert(name.to_owned());
                }
            }
        }
    }
}

#[test]
fn a_number_is_two_digits_between_an_a_and_an_underscore() {
    assert_eq!(number("a07_a_kid_is_looked_up"), Some(7));
    for none in ["a7_kid", "a_kid", "b07_kid", "a07", "a007_kid", "axx_kid"] {
        assert_eq!(number(none), None, "{none}");
    }
}

#[test]
fn every_number_has_its_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = BTreeMap::new();
    numbered(root, &mut found);
    let wanted: BTreeSet<u32> = (1..=LAST).collect();
    assert_eq!(found.keys().copied().collect::<BTreeSet<_>>(), wanted, "each of them, and no other");

    let table = std::fs::read_to_string(root.join("tests/README.md")).unwrap();
    let rows: BTreeMap<u32, &str> = table
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split_once(" | "))
        .filter_map(|(number, rest)| Some((number.trim().parse().ok()?, rest)))
        .collect();
    assert_eq!(rows.keys().copied().collect::<BTreeSet<_>>(), wanted, "each has its row");
    for (number, row) in rows {
        let named: BTreeSet<String> = row
            .split('`')
            .skip(1)
            .step_by(2)
            .filter_map(|path| path.rsplit("::").next())
            .filter(|name| self::number(name).is_some())
            .map(str::to_owned)
            .collect();
        assert!(!named.is_empty(), "row {number} names a test");
        let unknown: Vec<_> = named.difference(&found[&number]).collect();
        assert!(unknown.is_empty(), "row {number} names what is not there: {unknown:?}");
    }
}
