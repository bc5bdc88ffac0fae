//! Reading of BibTeX, RIS and Hayagriva's YAML.

use hayagriva::Entry;
use hayagriva::io::from_yaml_str;

use muster_engine::prelude::Failure;

use super::Problem;

/// How bibliographies are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Bibtex,
    Ris,
    Yaml,
}

/// The format that a text looks like: BibTeX has entries that begin with `@`, RIS a line `TY  -`.
pub(super) fn guess(content: &str) -> Format {
    let has = |test: fn(&str) -> bool| content.lines().map(str::trim_start).any(test);
    if has(|line| line.starts_with("TY  -")) {
        Format::Ris
    } else if has(|line| line.starts_with('@') && line.contains(['{', '('])) {
        Format::Bibtex
    } else {
        Format::Yaml
    }
}

/// Reads the entries; an entry with a field that cannot be read becomes a problem.
pub(super) fn entries(content: &str, format: Format, problems: &mut Vec<Problem>) -> Result<Vec<Entry>, Failure> {
    let invalid = |what: &str, error: String| {
        let error: String = error.chars().take(300).collect();
        Failure::invalid(&["content"], format!("is no {what}: {error}"))
    };
    match format {
        Format::Yaml => {
            let library = from_yaml_str(content).map_err(|error| invalid("Hayagriva YAML", error.to_string()))?;
            Ok(library.iter().cloned().collect())
        }
        Format::Bibtex => bibtex(content, problems).map_err(|error| invalid("BibTeX", error)),
        Format::Ris => bibtex(&ris(content)?, problems).map_err(|error| invalid("RIS", error)),
    }
}

/// Nesting of brackets, and of lists in one line, that is read: the libraries need time by its square.
const MAX_NESTING: usize = 60;

/// Refuses a text that is nested too deeply.
pub(super) fn check_nesting(content: &str) -> Result<(), Failure> {
    let (mut depth, mut deepest) = (0_usize, 0_usize);
    for byte in content.bytes() {
        match byte {
            b'{' | b'[' | b'(' => depth += 1,
            b'}' | b']' | b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    let lists =
        content.lines().map(|line| line.matches("- ").count() + line.matches("? ").count()).max().unwrap_or_default();
    if deepest > MAX_NESTING || lists > MAX_NESTING * 10 {
        return Err(Failure::too_large(format!("brackets are nested {deepest} deep, {MAX_NESTING} are allowed")));
    }
    Ok(())
}

fn bibtex(content: &str, problems: &mut Vec<Problem>) -> Result<Vec<Entry>, String> {
    let bibliography = biblatex::Bibliography::parse(content).map_err(|error| error.to_string())?;
    let mut entries = Vec::new();
    for entry in bibliography.iter() {
        match Entry::try_from(entry) {
            Ok(entry) => entries.push(entry),
            Err(error) => {
                problems.push(Problem { key: entry.key.clone(), message: format!("cannot be read: {error}") })
            }
        }
    }
    Ok(entries)
}

/// BibTeX of the records of a RIS file (Research Information Systems, tags of 2011).
fn ris(content: &str) -> Result<String, Failure> {
    let mut out = String::new();
    let mut record: Option<Record> = None;
    let mut number = 0;
    for (at, line) in content.lines().enumerate() {
        let line = line.trim_start_matches('\u{feff}').trim_end();
        let tag = line.get(..2).filter(|_| line.get(2..).is_some_and(|rest| rest.trim_start().starts_with('-')));
        let Some(tag) = tag else { continue };
        let value = line.get(2..).and_then(|rest| rest.split_once('-')).map_or("", |(_, value)| value.trim());
        match (tag, &mut record) {
            ("TY", open) => {
                // A record without ER ends where the next one begins.
                out.extend(open.take().map(|record| record.bibtex()));
                number += 1;
                *open = Some(Record::new(value, number));
            }
            ("ER", open) => {
                if let Some(record) = open.take() {
                    out.push_str(&record.bibtex());
                }
            }
            (tag, Some(record)) => record.add(tag, value),
            (_, None) => {
                let message = format!("is no RIS: line {} stands before the first TY", at + 1);
                return Err(Failure::invalid(&["content"], message));
            }
        }
    }
    // A last record without ER counts.
    if let Some(record) = record {
        out.push_str(&record.bibtex());
    }
    Ok(out)
}

struct Record {
    kind: &'static str,
    key: String,
    authors: Vec<String>,
    editors: Vec<String>,
    fields: Vec<(&'static str, String)>,
    first_page: String,
    last_page: String,
}

impl Record {
    fn new(kind: &str, number: usize) -> Self {
        let kind = match kind {
            "BOOK" | "WHOLE" => "book",
            "CHAP" => "incollection",
            "CONF" | "CPAPER" => "inproceedings",
            "RPRT" => "techreport",
            "THES" => "phdthesis",
            "ELEC" | "WEB" | "BLOG" => "online",
            "DATA" => "dataset",
            "UNPB" => "unpublished",
            "JOUR" | "JFULL" | "MGZN" | "NEWS" | "EJOUR" => "article",
            _ => "misc",
        };
        Self {
            kind,
            key: format!("ris{number}"),
            authors: Vec::new(),
            editors: Vec::new(),
            fields: Vec::new(),
            first_page: String::new(),
            last_page: String::new(),
        }
    }

    fn add(&mut self, tag: &str, value: &str) {
        let value = escape(value);
        if value.is_empty() {
            return;
        }
        let container = match self.kind {
            "article" => "journal",
            "incollection" | "inproceedings" => "booktitle",
            _ => "series",
        };
        let name = match tag {
            "ID" => {
                let key: String = value
                    .chars()
                    .filter(|letter| letter.is_alphanumeric() || matches!(letter, '-' | '_' | ':'))
                    .collect();
                if !key.is_empty() {
                    self.key = key;
                }
                return;
            }
            "AU" | "A1" => return self.authors.push(value),
            "A2" | "ED" => return self.editors.push(value),
            "SP" => {
                self.first_page = value;
                return;
            }
            "EP" => {
                self.last_page = value;
                return;
            }
            "TI" | "T1" | "CT" => "title",
            "JO" | "JF" | "T2" | "JA" | "BT" => container,
            "PY" | "Y1" | "DA" => "date",
            "VL" => "volume",
            "IS" => "number",
            "PB" if matches!(self.kind, "phdthesis" | "techreport") => "institution",
            "PB" => "publisher",
            "CY" => "address",
            "ET" => "edition",
            "DO" => "doi",
            "UR" | "L1" => "url",
            "SN" if matches!(self.kind, "book" | "incollection") => "isbn",
            "SN" => "issn",
            "AB" | "N2" => "abstract",
            _ => return,
        };
        let value = if name == "date" { date(&value) } else { value };
        // Of tags with one meaning the first counts.
        if !value.is_empty() && !self.fields.iter().any(|(known, _)| *known == name) {
            self.fields.push((name, value));
        }
    }

    fn bibtex(&self) -> String {
        let mut fields = self.fields.clone();
        for (name, people) in [("author", &self.authors), ("editor", &self.editors)] {
            if !people.is_empty() {
                fields.push((name, people.join(" and ")));
            }
        }
        match (self.first_page.is_empty(), self.last_page.is_empty()) {
            (false, false) => fields.push(("pages", format!("{}--{}", self.first_page, self.last_page))),
            (false, true) => fields.push(("pages", self.first_page.clone())),
            _ => {}
        }
        let fields: Vec<String> = fields.iter().map(|(name, value)| format!("  {name} = {{{value}}}")).collect();
        format!("@{}{{{},\n{}\n}}\n", self.kind, self.key, fields.join(",\n"))
    }
}

/// `2019/04/02/` as `2019-04-02`, as much of it as there is.
fn date(written: &str) -> String {
    let parts: Vec<&str> = written
        .split(['/', '-'])
        .take(3)
        .take_while(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
        .collect();
    let pad = |(at, part): (usize, &&str)| if at == 0 { format!("{part:0>4}") } else { format!("{part:0>2}") };
    parts.iter().enumerate().map(pad).collect::<Vec<_>>().join("-")
}

/// A text within the braces of a field of BibTeX.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '{' | '}' | '\\' => {}
            '&' | '%' | '#' | '_' | '$' => out.extend(['\\', letter]),
            '~' => out.push_str("\\textasciitilde{}"),
            other => out.push(other),
        }
    }
    out.trim().to_owned()
}
