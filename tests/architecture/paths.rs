//! The paths that a source names: `use` trees written out, `crate`, `self` and `super` resolved.

use super::lexer::Token;

/// A path that a file names, from the crate's name on, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) path: Vec<String>,
    pub(crate) at: usize,
}

/// The module that a file holds: `actors/src/limits/state.rs` is `muster_limits::state`.
pub(crate) fn module_of(file: &str) -> Vec<String> {
    let (package, inside) = match file.split_once("src/") {
        Some(("", inside)) => ("muster".to_owned(), inside),
        Some((package, inside)) => (format!("muster_{}", package.trim_end_matches('/').replace('-', "_")), inside),
        // A test, a bench or a build script: a crate of its own.
        None => return vec![file.to_owned()],
    };
    if inside.starts_with("bin/") {
        return vec![file.to_owned()];
    }
    let inside = inside.trim_end_matches(".rs");
    let mut module = vec![package];
    module.extend(inside.split('/').map(str::to_owned));
    if module.len() == 2 && matches!(inside, "lib" | "main") || module.last().is_some_and(|last| last == "mod") {
        module.pop();
    }
    module
}

pub(crate) fn references(file: &str, tokens: &[Token<'_>]) -> Vec<Reference> {
    let mut walk = Walk { tokens, at: 0, depth: 0, module: module_of(file), inline: Vec::new(), found: Vec::new() };
    walk.run();
    walk.found
}

struct Walk<'a> {
    tokens: &'a [Token<'a>],
    at: usize,
    depth: usize,
    module: Vec<String>,
    /// The brace depths at which the inline modules that we are in were opened.
    inline: Vec<usize>,
    found: Vec<Reference>,
}

impl<'a> Walk<'a> {
    fn peek(&self, ahead: usize) -> &'a str {
        self.tokens.get(self.at + ahead).map_or("", |token| token.text)
    }

    fn run(&mut self) {
        while let Some(&token) = self.tokens.get(self.at) {
            match token.text {
                "{" => self.depth += 1,
                "}" => self.close(),
                "mod" if self.peek(2) == "{" => {
                    self.module.push(self.peek(1).to_owned());
                    self.inline.push(self.depth);
                    self.depth += 1;
                    self.at += 2;
                }
                // Not the `use<'a>` of a return type.
                "use" if self.peek(1) != "<" => {
                    self.at += 1;
                    self.tree(&[]);
                }
                "extern" if self.peek(1) == "crate" => {
                    self.at += 2;
                    self.note(vec![self.peek(0).to_owned()], self.at);
                }
                _ if token.is_ident() && self.peek(1) == "::" => self.inline_path(),
                _ => {}
            }
            self.at += 1;
        }
    }

    fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        if self.inline.last() == Some(&self.depth) {
            self.inline.pop();
            self.module.pop();
        }
    }

    /// A path in the middle of code; ends on its last segment.
    fn inline_path(&mut self) {
        let start = self.at;
        let mut path = vec![self.peek(0).to_owned()];
        while self.peek(1) == "::" && self.tokens.get(self.at + 2).is_some_and(Token::is_ident) {
            self.at += 2;
            path.push(self.peek(0).to_owned());
        }
        self.note(path, start);
    }

    /// One branch of a `use` tree; ends on the `,`, `}` or `;` behind it.
    fn tree(&mut self, before: &[String]) {
        let mut path = before.to_vec();
        let start = self.at;
        while let Some(&token) = self.tokens.get(self.at) {
            match token.text {
                "{" => {
                    self.group(&path);
                    self.at += 1;
                    return;
                }
                "as" => self.at += 1,
                "," | "}" | ";" => break,
                "::" => {}
                "self" if !path.is_empty() => {}
                text => path.push(text.to_owned()),
            }
            self.at += 1;
        }
        if !path.is_empty() {
            self.note(path, start);
        }
    }

    fn group(&mut self, path: &[String]) {
        while !matches!(self.peek(0), "}" | ";" | "") {
            self.at += 1;
            if self.peek(0) != "}" {
                self.tree(path);
            }
        }
    }

    fn note(&mut self, path: Vec<String>, start: usize) {
        let at = self.tokens.get(start).map_or(0, |token| token.at);
        self.found.push(Reference { path: resolve(&self.module, path), at });
    }
}

fn resolve(module: &[String], path: Vec<String>) -> Vec<String> {
    let mut base: Vec<String> = match path.first().map(String::as_str) {
        Some("crate") => module.iter().take(1).cloned().collect(),
        Some("self" | "super") => module.to_vec(),
        _ => return path,
    };
    for segment in path {
        match segment.as_str() {
            "crate" | "self" => {}
            // Above the crate there is nothing.
            "super" => base.truncate(base.len().saturating_sub(1).max(1)),
            _ => base.push(segment),
        }
    }
    base
}
