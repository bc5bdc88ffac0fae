//! q186: citations and bibliography.

mod check;
mod export;
mod read;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use hayagriva::archive::{ArchivedStyle, locales};
use hayagriva::citationberg::{IndependentStyle, Locale, LocaleCode, Style as Csl};
use hayagriva::{
    BibliographyDriver, BibliographyItem, BibliographyRequest, BufWriteFormat, CitationItem, CitationRequest,
    ElemChild, Entry,
};

use muster_engine::prelude::*;
use muster_engine::stack::on_stack;

use crate::support::bounded;

/// Bytes of a bibliography, and its entries: citations that look alike are compared pair by pair.
const MAX_BYTES: usize = 200_000;
const MAX_ENTRIES: usize = 250;
/// Stack of the libraries, which recurse into nested braces and elements.
const STACK: usize = 64 * 1024 * 1024;

#[derive(Input)]
pub struct Input {
    content: String,
    format: Format,
    style: Style,
}

#[derive(Clone, Copy, PartialEq, Words)]
enum Format {
    Auto,
    Bibtex,
    Ris,
    Yaml,
}

#[derive(Clone, Copy, PartialEq, Words)]
#[wire(case = "kebab")]
enum Style {
    Apa,
    Ieee,
    Vancouver,
    ChicagoAuthorDate,
    Harvard,
}

#[derive(Output)]
pub struct Output {
    entries: Vec<Value>,
    bibliography: Vec<String>,
    in_text: BTreeMap<String, String>,
    problems: Vec<Problem>,
    duplicates: Vec<Vec<String>>,
}

#[derive(Debug, Output)]
struct Problem {
    key: String,
    message: String,
}

/// Terms of American English, which the styles are written in.
static LOCALES: LazyLock<Vec<Locale>> = LazyLock::new(|| {
    let english = |locale: &Locale| locale.lang.as_ref().is_none_or(|code| *code == LocaleCode::en_us());
    locales().into_iter().filter(english).collect()
});

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    bounded([input.content.as_str()], MAX_BYTES)?;
    if input.content.trim().is_empty() {
        cx.warn("no_entries: the content is empty");
        let (in_text, problems) = (BTreeMap::new(), Vec::new());
        return Ok(Output { entries: Vec::new(), bibliography: Vec::new(), in_text, problems, duplicates: Vec::new() });
    }
    read::check_nesting(&input.content)?;
    let on_panic = || Failure::invalid(&["content"], "has an entry that the formatter cannot process");
    on_stack(cx, STACK, on_panic, || formatted(&input))
}

fn formatted(input: &Input) -> Result<Output, Failure> {
    let format = match input.format {
        Format::Auto => read::guess(&input.content),
        Format::Bibtex => read::Format::Bibtex,
        Format::Ris => read::Format::Ris,
        Format::Yaml => read::Format::Yaml,
    };
    let mut problems = Vec::new();
    let entries = read::entries(&input.content, format, &mut problems)?;
    if entries.len() > MAX_ENTRIES {
        return Err(Failure::too_large(format!("{} entries, {MAX_ENTRIES} are allowed", entries.len())));
    }
    problems.extend(entries.iter().flat_map(check::problems));
    let (bibliography, in_text) = rendered(&entries, input.style)?;
    let shown = |entry: &Entry| {
        let mut value = serde_json::to_value(entry).map_err(Failure::internal)?;
        if let Value::Object(members) = &mut value {
            members.insert("key".to_owned(), entry.key().into());
            members.insert("bibtex".to_owned(), export::bibtex(entry).into());
        }
        Ok(value)
    };
    Ok(Output {
        entries: entries.iter().map(shown).collect::<Result<_, Failure>>()?,
        bibliography,
        in_text,
        problems,
        duplicates: check::duplicates(&entries),
    })
}

/// The bibliography in the order of the style, and each entry as it is cited alone.
fn rendered(entries: &[Entry], style: Style) -> Result<(Vec<String>, BTreeMap<String, String>), Failure> {
    let style = csl(style)?;
    let mut driver = BibliographyDriver::new();
    for entry in entries {
        driver.citation(CitationRequest::from_items(vec![CitationItem::with_entry(entry)], &style, &LOCALES));
    }
    let rendered = driver.finish(BibliographyRequest::new(&style, None, &LOCALES));
    let keys = entries.iter().map(|entry| entry.key().to_owned());
    let in_text = keys.zip(rendered.citations.iter().map(|citation| plain(&citation.citation.0))).collect();
    let items = rendered.bibliography.map(|bibliography| bibliography.items).unwrap_or_default();
    let line = |item: BibliographyItem| {
        let content = plain(&item.content.0);
        item.first_field.map_or_else(|| content.clone(), |first| format!("{} {content}", plain(&[first]).trim()))
    };
    Ok((items.into_iter().map(line).collect(), in_text))
}

/// Text without marks of its form and space around it.
fn plain(parts: &[ElemChild]) -> String {
    let mut out = String::new();
    for part in parts {
        // Writing to a string does not fail.
        let _ = part.write_buf(&mut out, BufWriteFormat::Plain);
    }
    match SPACED.as_ref() {
        Some(spaced) => spaced.replace_all(out.trim(), "$1: $2").into_owned(),
        None => out.trim().to_owned(),
    }
}

/// A space that the library leaves before the colon between volume and pages, where an issue is absent.
static SPACED: LazyLock<Option<regex::Regex>> = LazyLock::new(|| regex::Regex::new(r"(\d) : (\d)").ok());

/// A style of the archive, which Hayagriva takes from the repository of the Citation Style Language.
fn csl(style: Style) -> Result<IndependentStyle, Failure> {
    let archived = match style {
        Style::Apa => ArchivedStyle::AmericanPsychologicalAssociation,
        Style::Ieee => ArchivedStyle::InstituteOfElectricalAndElectronicsEngineers,
        Style::Vancouver => ArchivedStyle::SpringerVancouver,
        Style::ChicagoAuthorDate => ArchivedStyle::ChicagoAuthorDate,
        Style::Harvard => ArchivedStyle::HarvardCiteThemRight,
    };
    match archived.get() {
        Csl::Independent(style) => Ok(style),
        Csl::Dependent(_) => Err(Failure::internal("the style refers to another one")),
    }
}
