//! An entry as BibTeX.

use hayagriva::Entry;
use hayagriva::types::{EntryType, Person};

use super::read::escape;

/// Writes an entry with the fields that BibTeX has in common with Hayagriva.
pub(super) fn bibtex(entry: &Entry) -> String {
    let parent = entry.parents().first();
    let container = parent.and_then(|parent| parent.title()).map(ToString::to_string);
    let proceedings = parent.is_some_and(|parent| {
        matches!(parent.entry_type(), EntryType::Proceedings | EntryType::Conference | EntryType::Anthology)
    });
    let (kind, container_field) = match entry.entry_type() {
        EntryType::Article if proceedings => ("inproceedings", "booktitle"),
        EntryType::Article => ("article", "journal"),
        EntryType::Chapter => ("inbook", "booktitle"),
        EntryType::Anthos | EntryType::Entry => ("incollection", "booktitle"),
        EntryType::Book | EntryType::Anthology | EntryType::Reference => ("book", "series"),
        EntryType::Thesis => ("phdthesis", "series"),
        EntryType::Report => ("techreport", "series"),
        EntryType::Proceedings | EntryType::Conference => ("proceedings", "series"),
        EntryType::Manuscript => ("unpublished", "series"),
        _ => ("misc", "howpublished"),
    };
    let mut fields: Vec<(&str, String)> = Vec::new();
    let mut add = |name: &'static str, value: Option<String>| {
        if let Some(value) = value.map(|value| escape(&value)).filter(|value| !value.is_empty()) {
            fields.push((name, value));
        }
    };
    let near = |get: fn(&Entry) -> Option<String>| get(entry).or_else(|| parent.and_then(get));
    add("title", entry.title().map(ToString::to_string));
    add(container_field, container);
    add("year", entry.date_any().map(|date| date.year.to_string()));
    add("month", entry.date_any().and_then(|date| date.month).map(|month| (month + 1).to_string()));
    add("volume", near(|entry| entry.volume().map(|volume| volume.to_str().into_owned())));
    add("number", near(|entry| entry.issue().map(|issue| issue.to_str().into_owned())));
    add("edition", near(|entry| entry.edition().map(|edition| edition.to_str().into_owned())));
    add("pages", entry.page_range().map(|pages| pages.to_str().replace(['–', '-'], "--").replace("----", "--")));
    let publisher = near(|entry| entry.publisher().and_then(|publisher| publisher.name()).map(ToString::to_string));
    let organization = near(|entry| entry.organization().map(ToString::to_string));
    match kind {
        "phdthesis" => add("school", organization.or(publisher)),
        "techreport" => add("institution", organization.or(publisher)),
        _ => add("publisher", publisher.or(organization)),
    }
    add("doi", entry.doi().map(str::to_owned));
    add("isbn", near(|entry| entry.isbn().map(str::to_owned)));
    add("issn", near(|entry| entry.issn().map(str::to_owned)));
    add("url", entry.url().map(|url| url.value.to_string()));
    // Names are escaped one by one: braces around an institution stay.
    for (name, people) in [("author", entry.authors()), ("editor", entry.editors())] {
        let people: Vec<String> =
            people.unwrap_or_default().iter().map(person).filter(|name| !name.is_empty()).collect();
        if !people.is_empty() {
            fields.insert(0, (name, people.join(" and ")));
        }
    }
    let lines: Vec<String> = fields.iter().map(|(name, value)| format!("  {name} = {{{value}}}")).collect();
    let key: String =
        entry.key().chars().filter(|letter| !matches!(letter, ',' | '{' | '}' | ' ' | '"' | '#' | '%')).collect();
    format!("@{kind}{{{key},\n{}\n}}", lines.join(",\n"))
}

fn person(person: &Person) -> String {
    let name = escape(&person.name_first(false, false));
    // A name of several words without a given name is that of an institution.
    if person.given_name.is_none() && name.contains(' ') { format!("{{{name}}}") } else { name }
}
