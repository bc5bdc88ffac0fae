//! Citations, numbered in the order in which an answer uses them.

use crate::base::{Base, Source};
use serde::Serialize;

/// A source and the place in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Citation {
    pub n: usize,
    pub id: String,
    pub org: String,
    pub title: String,
    pub year: u16,
    pub url: String,
    pub locator: String,
    pub jurisdiction: String,
}

#[derive(Debug)]
pub struct Cites<'a> {
    base: &'a Base,
    list: Vec<Citation>,
}

impl<'a> Cites<'a> {
    #[must_use]
    pub fn new(base: &'a Base) -> Self {
        Self { base, list: Vec::new() }
    }

    /// The number of a place in a source of the base.
    pub fn of(&mut self, source: &str, locator: &str) -> Vec<usize> {
        match self.base.sources.get(source) {
            Some(source) => self.add(&source.clone(), locator),
            None => Vec::new(),
        }
    }

    /// The number of a place in any source.
    pub fn add(&mut self, source: &Source, locator: &str) -> Vec<usize> {
        if let Some(known) = self.list.iter().find(|c| c.id == source.id && c.locator == locator) {
            return vec![known.n];
        }
        let n = self.list.len() + 1;
        self.list.push(Citation {
            n,
            id: source.id.clone(),
            org: source.org.clone(),
            title: source.title.clone(),
            year: source.year,
            url: source.url.clone(),
            locator: locator.to_owned(),
            jurisdiction: source.jurisdiction.clone(),
        });
        vec![n]
    }

    #[must_use]
    pub fn finish(self) -> Vec<Citation> {
        self.list
    }
}
