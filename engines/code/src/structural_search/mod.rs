//! q192: structural code search and rewrite.

mod language;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use ast_grep_core::meta_var::MetaVariable;
use ast_grep_core::replacer::TemplateFix;
use ast_grep_core::tree_sitter::StrDoc;
use ast_grep_core::{AstGrep, Language as _, NodeMatch, Pattern, PatternError};

use super::syntax::{self, MAX_NESTING};
use language::Grammar;
use muster_engine::prelude::*;

/// Maximum length of a source, in bytes: less than in other engines, as each match of a wide node costs its width.
const MAX_SOURCE: usize = 256 * 1024;
/// Maximum length of a pattern and of a rewrite, in bytes.
const MAX_PATTERN: usize = 4_096;
/// Maximum depth of a pattern, in nodes.
const MAX_PATTERN_DEPTH: usize = 128;
/// Maximum number of matches; a rewrite covers all or none.
const MAX_MATCHES: usize = 1_000;
/// Maximum size of a rewrite's result, in bytes.
const MAX_REWRITTEN: usize = 4 * 1024 * 1024;
/// Maximum size of all matches and bindings, in bytes: matches may be nested.
const MAX_TEXT: usize = 4 * 1024 * 1024;

#[derive(Input)]
pub struct Input {
    source: String,
    language: String,
    pattern: String,
    rewrite: Option<String>,
}

#[derive(Output)]
pub struct Output {
    matches: Vec<Match>,
    /// The source with every outermost match replaced; only if there is a rewrite.
    rewritten: Option<String>,
    /// Unified diff from the source to the rewritten text.
    diff: Option<String>,
    count: usize,
}

#[derive(Output)]
struct Match {
    /// The first byte.
    start: usize,
    /// The byte after the last.
    end: usize,
    /// From 1.
    line: usize,
    text: String,
    /// Text bound to each metavariable, by name.
    bindings: BTreeMap<String, String>,
}

type Doc = StrDoc<Grammar>;

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    let bounds = [("source", &input.source, MAX_SOURCE), ("pattern", &input.pattern, MAX_PATTERN)];
    let rewrite = input.rewrite.as_ref().map(|rewrite| ("rewrite", rewrite, MAX_PATTERN));
    for (name, text, most) in bounds.into_iter().chain(rewrite) {
        if text.len() > most {
            return Err(Failure::too_large(format!("{name} is longer than {most} bytes")));
        }
    }
    let (root, grammar) = parse(&input)?;
    let pattern = pattern(&input, grammar, context)?;
    let root_node = root.root();
    let found: Vec<NodeMatch<'_, Doc>> = root_node.find_all(&pattern).take(MAX_MATCHES + 1).collect();
    if found.len() > MAX_MATCHES {
        let message = format!("there are more than {MAX_MATCHES} matches: narrow the pattern or give less source");
        return Err(Failure::too_large(message));
    }
    let matches = reported(&found, &input.source)?;
    let rewritten = match &input.rewrite {
        Some(rewrite) => Some(rewritten(&input.source, rewrite, grammar, &pattern, &found)?),
        None => None,
    };
    let diff = rewritten.as_ref().map(|rewritten| match *rewritten == input.source {
        true => String::new(),
        false => diffy::create_patch(&input.source, rewritten).to_string(),
    });
    Ok(Output { count: matches.len(), matches, rewritten, diff })
}

/// Parses the source; for TypeScript in the dialect that fits.
fn parse(input: &Input) -> Result<(AstGrep<Doc>, Grammar), Failure> {
    let (language, tree) = syntax::choose(&input.source, &input.language, None, &Context::default())?;
    if syntax::depth(&tree) > MAX_NESTING {
        return Err(Failure::invalid(&["source"], format!("is nested more than {MAX_NESTING} deep")));
    }
    let grammar = Grammar(language);
    Ok((AstGrep::doc(StrDoc { src: input.source.clone(), lang: grammar, tree }), grammar))
}

fn pattern(input: &Input, grammar: Grammar, context: &Context) -> Result<Pattern, Failure> {
    let invalid = |message: String| Err(Failure::invalid(&["pattern"], message));
    let Grammar(language) = grammar;
    let tree = syntax::parse(&grammar.pre_process_pattern(&input.pattern), language, "pattern")?;
    if syntax::depth(&tree) > MAX_PATTERN_DEPTH {
        return invalid(format!("is nested more than {MAX_PATTERN_DEPTH} deep"));
    }
    let pattern = match Pattern::try_new(&input.pattern, grammar) {
        Ok(pattern) => pattern,
        Err(PatternError::NoContent(_)) => return invalid("is empty: write code, such as foo($X)".to_owned()),
        Err(PatternError::MultipleNode(_)) => {
            return invalid("is several pieces of code: write one, such as one call or one statement".to_owned());
        }
        Err(error) => return invalid(format!("is not a pattern: {error}")),
    };
    if pattern.has_error() {
        context.warn(format!("the pattern is not whole code of {}: it may match nothing", input.language));
    }
    Ok(pattern)
}

fn reported(found: &[NodeMatch<'_, Doc>], source: &str) -> Result<Vec<Match>, Failure> {
    let mut size = 0;
    let mut matches = Vec::new();
    for found in found {
        let range = found.range();
        let text = found.text().into_owned();
        let bindings = bindings(found, source);
        size += text.len() + bindings.values().map(String::len).sum::<usize>();
        if size > MAX_TEXT {
            let message = format!("the text of the matches is longer than {MAX_TEXT} bytes: narrow the pattern");
            return Err(Failure::too_large(message));
        }
        matches.push(Match { start: range.start, end: range.end, line: found.start_pos().line() + 1, text, bindings });
    }
    Ok(matches)
}

fn bindings(found: &NodeMatch<'_, Doc>, source: &str) -> BTreeMap<String, String> {
    let env = found.get_env();
    let mut bindings = BTreeMap::new();
    for variable in env.get_matched_variables() {
        match variable {
            MetaVariable::Capture(name, _) => {
                let text = env.get_match(&name).map(|node| node.text().into_owned()).unwrap_or_default();
                bindings.insert(name, text);
            }
            MetaVariable::MultiCapture(name) => {
                let nodes = env.get_multiple_matches(&name);
                let ends = nodes.first().zip(nodes.last()).map(|(first, last)| first.range().start..last.range().end);
                let text = ends.and_then(|range| source.get(range)).unwrap_or_default().to_owned();
                bindings.insert(name, text);
            }
            MetaVariable::Dropped(_) | MetaVariable::Multiple => {}
        }
    }
    bindings
}

/// Replaces every match that is not inside another one.
fn rewritten(
    source: &str,
    rewrite: &str,
    grammar: Grammar,
    pattern: &Pattern,
    found: &[NodeMatch<'_, Doc>],
) -> Result<String, Failure> {
    let fix = TemplateFix::try_new(rewrite, &grammar).map_err(Failure::internal)?;
    let (known, used) = (pattern.defined_vars(), fix.used_vars());
    let mut unknown: Vec<&str> = used.into_iter().filter(|name| !known.contains(name)).collect();
    unknown.sort_unstable();
    if let Some(name) = unknown.first() {
        return Err(Failure::invalid(&["rewrite"], format!("uses ${name}, which the pattern does not have")));
    }
    let (mut text, mut at) = (Vec::new(), 0);
    for found in found {
        let edit = found.make_edit(pattern, &fix);
        if edit.position < at {
            continue;
        }
        text.extend_from_slice(source.as_bytes().get(at..edit.position).unwrap_or_default());
        text.extend_from_slice(&edit.inserted_text);
        at = edit.position + edit.deleted_length;
        if text.len() > MAX_REWRITTEN {
            return Err(Failure::too_large(format!("the rewrite is longer than {MAX_REWRITTEN} bytes")));
        }
    }
    text.extend_from_slice(source.as_bytes().get(at..).unwrap_or_default());
    String::from_utf8(text).map_err(Failure::internal)
}
