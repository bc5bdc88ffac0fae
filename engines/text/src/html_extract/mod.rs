//! q184: web page text extraction.

mod content;
mod guard;
mod page;
#[cfg(test)]
mod tests;
mod walk;

use std::collections::{BTreeMap, HashSet};

use scraper::{ElementRef, Html, Selector};
use url::Url;

use muster_engine::prelude::*;

use walk::{Block, Kind, LINK, blocks, count_words};

/// Bytes of a selector, and elements of a page for selectors that look at siblings or contents.
const MAX_SELECTOR: usize = 200;
const MAX_COMPARED: usize = 10_000;
/// Links and tables that are listed.
const MAX_LINKS: usize = 10_000;
const MAX_TABLES: usize = 1_000;

#[derive(Input)]
pub struct Input {
    html: String,
    base_url: Option<String>,
    output: Form,
    selector: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Words)]
enum Form {
    Text,
    Markdown,
}

#[derive(Output)]
pub struct Output {
    title: String,
    text: String,
    metadata: BTreeMap<String, String>,
    links: Vec<Link>,
    tables: Vec<Vec<Vec<String>>>,
    words: usize,
}

#[derive(Output)]
struct Link {
    text: String,
    url: String,
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    guard::check(&input.html)?;
    let given =
        match &input.base_url {
            Some(address) => {
                let url = Url::parse(address).ok().filter(|url| !url.cannot_be_a_base());
                Some(url.ok_or_else(|| {
                    Failure::invalid(&["base_url"], "is no absolute URL, such as https://example.org/a/")
                })?)
            }
            None => None,
        };
    let page = Html::parse_document(&input.html);
    let base = page::base(&page, given);
    let kept = match &input.selector {
        Some(selector) => selected(&page, selector, cx)?,
        None => main_blocks(&page, cx),
    };
    let address = |address: &str| page::resolved(address, base.as_ref());
    let write = |block: &Block| match input.output {
        Form::Text => block.text.clone(),
        Form::Markdown => markdown(block, &address),
    };
    let text = joined(&kept, write);
    let mut seen = HashSet::new();
    let mut links = Vec::new();
    for (text, written) in kept.iter().flat_map(|block| &block.links) {
        if let Some(url) = address(written)
            && seen.insert((text.clone(), url.clone()))
        {
            links.push(Link { text: text.clone(), url });
        }
    }
    let tables: Vec<Vec<Vec<String>>> = kept
        .iter()
        .filter_map(|block| match &block.kind {
            Kind::Table(rows) => Some(rows.clone()),
            _ => None,
        })
        .collect();
    if links.len() > MAX_LINKS || tables.len() > MAX_TABLES {
        cx.warn(format!("shortened: {MAX_LINKS} links and {MAX_TABLES} tables are listed, there are more"));
        links.truncate(MAX_LINKS);
    }
    Ok(Output {
        title: page::title(&page),
        words: kept.iter().map(|block| count_words(&block.text)).sum(),
        text,
        metadata: page::metadata(&page, base.as_ref()),
        links,
        tables: tables.into_iter().take(MAX_TABLES).collect(),
    })
}

/// The blocks of what a selector matches.
fn selected(page: &Html, selector: &str, cx: &Context) -> Result<Vec<Block>, Failure> {
    if selector.len() > MAX_SELECTOR {
        return Err(Failure::invalid(&["selector"], format!("must have at most {MAX_SELECTOR} bytes")));
    }
    let compares = ["~", ":has", ":nth", ":last", ":only"].iter().any(|part| selector.contains(part));
    if compares && page.tree.values().count() > MAX_COMPARED {
        return Err(Failure::too_large(format!(
            "selectors with ~, :has, :nth, :last or :only are for pages of at most {MAX_COMPARED} nodes"
        )));
    }
    let parsed = Selector::parse(selector).map_err(|_| Failure::invalid(&["selector"], "is no CSS selector"))?;
    let elements = content::outermost(page.select(&parsed).collect());
    if elements.is_empty() {
        cx.warn("nothing_selected: no element matches the selector");
    }
    Ok(elements.into_iter().flat_map(|element| blocks(element, page)).collect())
}

/// The blocks of the main text.
fn main_blocks(page: &Html, cx: &Context) -> Vec<Block> {
    let declared = content::declared(page);
    let is_declared = !declared.is_empty();
    let roots: Vec<ElementRef<'_>> = if is_declared { declared } else { vec![page.root_element()] };
    let all: Vec<Block> = roots.into_iter().flat_map(|root| blocks(root, page)).collect();
    let main = content::main_text(&all, is_declared);
    if main.contains(&true) {
        return all.into_iter().zip(main).filter(|(_, main)| *main).map(|(block, _)| block).collect();
    }
    if !all.is_empty() {
        cx.warn("no_main_text: no block looks like main text; all text that is shown is returned");
    }
    all
}

/// Blocks with an empty line between them; items of a list, and in plain text nothing else, follow without one.
fn joined(blocks: &[Block], write: impl Fn(&Block) -> String) -> String {
    let mut out = String::new();
    let mut before: Option<&Block> = None;
    for block in blocks {
        if let Some(before) = before {
            let items = matches!((&before.kind, &block.kind), (Kind::Item(..), Kind::Item(..)));
            out.push_str(if items { "\n" } else { "\n\n" });
        }
        out.push_str(&write(block));
        before = Some(block);
    }
    out
}

/// A block as CommonMark, tables as GitHub writes them.
fn markdown(block: &Block, address: &impl Fn(&str) -> Option<String>) -> String {
    let text = with_links(block, address);
    let written = match &block.kind {
        Kind::Text => text,
        Kind::Heading(level) => format!("{} {}", "#".repeat(*level), text.replace('\n', " ")),
        Kind::Item(depth, number) => {
            let mark = number.map_or_else(|| "-".to_owned(), |number| format!("{number}."));
            format!("{}{mark} {}", "  ".repeat(*depth), text.replace('\n', " "))
        }
        Kind::Preformatted => {
            let fence = if text.contains("```") { "~~~~" } else { "```" };
            format!("{fence}\n{text}\n{fence}")
        }
        Kind::Table(rows) => table(rows),
    };
    if !block.quoted {
        return written;
    }
    written.lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n")
}

/// Puts the addresses in their places; a link without one becomes its text.
fn with_links(block: &Block, address: &impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut parts = block.markdown.split(LINK);
    out.push_str(parts.next().unwrap_or_default());
    while let (Some(number), Some(rest)) = (parts.next(), parts.next()) {
        let link = number.parse().ok().and_then(|number: usize| block.links.get(number));
        // Spaces and brackets in an address would end it.
        let url = link.and_then(|(_, written)| address(written)).unwrap_or_default();
        out.push_str(&url.replace(' ', "%20").replace('(', "%28").replace(')', "%29"));
        out.push_str(rest);
    }
    out
}

fn table(rows: &[Vec<String>]) -> String {
    let width = rows.iter().map(Vec::len).max().unwrap_or_default();
    let line = |row: &Vec<String>| {
        let cells = (0..width).map(|at| row.get(at).map_or(String::new(), |cell| cell.replace('|', "\\|")));
        format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
    };
    let mut lines: Vec<String> = rows.iter().map(line).collect();
    lines.insert(1.min(lines.len()), format!("|{}", " --- |".repeat(width)));
    lines.join("\n")
}
