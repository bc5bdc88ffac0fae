//! Title, metadata and addresses of a page.

use std::collections::BTreeMap;

use scraper::{ElementRef, Html, Selector};
use url::Url;

use super::walk::cell;

/// Entries of the metadata, and characters of each.
const MAX_ENTRIES: usize = 100;
const MAX_VALUE: usize = 2_000;

fn first<'a>(page: &'a Html, selector: &str) -> Option<ElementRef<'a>> {
    let selector = Selector::parse(selector).ok()?;
    page.select(&selector).next()
}

/// The title of the page, else that for social media, else the first heading; empty if there is none.
pub(super) fn title(page: &Html) -> String {
    let title = first(page, "head > title, title").map(cell).filter(|title| !title.is_empty());
    let social = || first(page, "meta[property='og:title']").and_then(|meta| meta.attr("content")).map(str::to_owned);
    title.or_else(social).or_else(|| first(page, "h1").map(cell)).unwrap_or_default()
}

/// Names and contents of `meta`, the language of the page and its canonical address. Of one name the first counts.
pub(super) fn metadata(page: &Html, base: Option<&Url>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    if let Some(language) = page.root_element().attr("lang").filter(|language| !language.trim().is_empty()) {
        found.insert("language".to_owned(), short(language));
    }
    if let Some(link) = first(page, "link[rel='canonical']").and_then(|link| link.attr("href")) {
        found.insert("canonical".to_owned(), short(&resolved(link, base).unwrap_or_else(|| link.to_owned())));
    }
    if let Some(time) = first(page, "time[datetime]").and_then(|time| time.attr("datetime")) {
        found.insert("time".to_owned(), short(time));
    }
    let Ok(selector) = Selector::parse("meta[content]") else { return found };
    for meta in page.select(&selector) {
        let name = meta.attr("name").or_else(|| meta.attr("property")).or_else(|| meta.attr("itemprop"));
        let (Some(name), Some(content)) = (name, meta.attr("content")) else { continue };
        let name: String = name.trim().to_lowercase().chars().take(100).collect();
        if !name.is_empty() && !content.trim().is_empty() && found.len() < MAX_ENTRIES {
            found.entry(name).or_insert_with(|| short(content));
        }
    }
    found
}

fn short(text: &str) -> String {
    text.trim().chars().take(MAX_VALUE).collect()
}

/// The address to which relative ones refer: `base` of the page, itself relative to the one that was given.
pub(super) fn base(page: &Html, given: Option<Url>) -> Option<Url> {
    let of_page = first(page, "base[href]").and_then(|base| base.attr("href"));
    match (of_page, given) {
        (Some(address), Some(given)) => given.join(address).ok().or(Some(given)),
        (Some(address), None) => Url::parse(address).ok(),
        (None, given) => given,
    }
}

/// An address as a reader could follow it; `None` of scripts, of data and of places within the page.
pub(super) fn resolved(address: &str, base: Option<&Url>) -> Option<String> {
    let address = address.trim();
    if address.is_empty() || address.starts_with('#') {
        return None;
    }
    let parsed = match base {
        Some(base) => base.join(address),
        None => Url::parse(address),
    };
    match parsed {
        Ok(url) => matches!(url.scheme(), "http" | "https" | "mailto" | "tel" | "ftp" | "geo").then(|| url.to_string()),
        // Relative, and nobody said to what.
        Err(_) if base.is_none() => Some(address.to_owned()),
        Err(_) => None,
    }
}
