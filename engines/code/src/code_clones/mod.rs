//! q193: duplicate code.

mod classes;
mod fingerprint;
mod lex;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use classes::Class;
use muster_engine::prelude::*;

const MAX_FILES: usize = 10_000;
/// Maximum size of all files, in bytes.
const MAX_SOURCE: usize = 4 * 1024 * 1024;
/// Maximum number of reported clones, and of places of one.
const MAX_CLONES: usize = 1_000;

#[derive(Input)]
pub struct Input {
    files: Vec<File>,
    min_tokens: f64,
    normalise_identifiers: bool,
}

#[derive(Input)]
struct File {
    path: String,
    source: String,
}

#[derive(Output)]
pub struct Output {
    /// Largest first.
    clones: Vec<Clone>,
    /// Share of all tokens that belong to a clone.
    duplication: f64,
}

#[derive(Output)]
struct Clone {
    tokens: usize,
    /// Number of lines at the first place.
    lines: u32,
    places: Vec<Occurrence>,
}

#[derive(Output)]
struct Occurrence {
    path: String,
    /// First line, from 1.
    start: u32,
    /// Last line.
    end: u32,
}

/// Tokens of a file: an id per token, equal for equivalent tokens, and their lines.
struct Tokens {
    ids: Vec<u32>,
    lines: Vec<(u32, u32)>,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    let size: usize = input.files.iter().map(|file| file.source.len()).sum();
    if size > MAX_SOURCE || input.files.len() > MAX_FILES {
        let message = format!("at most {MAX_FILES} files of {MAX_SOURCE} bytes together are compared");
        return Err(Failure::too_large(message));
    }
    let least = input.min_tokens as usize;
    let mut known = HashMap::new();
    let files: Vec<Tokens> =
        input.files.iter().map(|file| tokens(file, input.normalise_identifiers, &mut known)).collect();
    let found = fingerprint::pairs(&files, least);
    if found.is_cut {
        context.warn("too many passages are similar to compare all of them: some clones are omitted");
    }
    let mut classes = classes::classes(&files, &found.pairs);
    let duplication = classes::share(&files, &classes);
    if classes.len() > MAX_CLONES {
        context.warn(format!("only the largest {MAX_CLONES} clones are reported"));
        classes.truncate(MAX_CLONES);
    }
    let clones = classes.iter().map(|class| reported(class, &input.files, &files)).collect();
    Ok(Output { clones, duplication })
}

fn tokens<'s>(file: &'s File, normalise: bool, known: &mut HashMap<&'s str, u32>) -> Tokens {
    let mut tokens = Tokens { ids: Vec::new(), lines: Vec::new() };
    for token in lex::Lexer::new(&file.source, lex::Comments::of(&file.path)) {
        let text = if normalise { token.kind.normal().unwrap_or(token.text) } else { token.text };
        let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
        tokens.ids.push(*known.entry(text).or_insert(next));
        tokens.lines.push(token.lines);
    }
    tokens
}

fn reported(class: &Class, inputs: &[File], files: &[Tokens]) -> Clone {
    let place = |&(file, at): &(usize, usize)| {
        let lines = &files.get(file)?.lines;
        let (first, last) = (lines.get(at)?.0, lines.get(at + class.tokens - 1)?.1);
        Some(Occurrence { path: inputs.get(file)?.path.clone(), start: first, end: last })
    };
    let places: Vec<Occurrence> = class.places.iter().filter_map(place).take(MAX_CLONES).collect();
    Clone { tokens: class.tokens, lines: places.first().map_or(0, |place| place.end - place.start + 1), places }
}
