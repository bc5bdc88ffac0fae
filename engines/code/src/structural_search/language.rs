//! Grammars of this family for ast-grep, instead of its own crate's two dozen.

use std::borrow::Cow;

use ast_grep_core::matcher::PatternBuilder;
use ast_grep_core::tree_sitter::{LanguageExt, StrDoc, TSLanguage};
use ast_grep_core::{Language as AstGrepLanguage, Pattern, PatternError};

use crate::syntax::Language;

#[derive(Debug, Clone, Copy)]
pub(super) struct Grammar(pub Language);

impl AstGrepLanguage for Grammar {
    /// `$` is not an identifier character in most languages: metavariables are parsed with another character, as
    /// ast-grep does.
    fn pre_process_pattern<'q>(&self, query: &'q str) -> Cow<'q, str> {
        match self.expando_char() {
            '$' => Cow::Borrowed(query),
            sign => Cow::Owned(with_sign(query, sign)),
        }
    }

    fn expando_char(&self) -> char {
        match self.0 {
            Language::JavaScript | Language::TypeScript | Language::Tsx | Language::Java => '$',
            Language::C => '\u{10000}',
            Language::Rust | Language::Python | Language::Go => 'µ',
        }
    }

    fn kind_to_id(&self, kind: &str) -> u16 {
        self.0.grammar().id_for_node_kind(kind, true)
    }

    fn field_to_id(&self, field: &str) -> Option<u16> {
        self.0.grammar().field_id_for_name(field).map(|id| id.get())
    }

    fn build_pattern(&self, builder: &PatternBuilder) -> Result<Pattern, PatternError> {
        builder.build(|source| StrDoc::try_new(source, *self))
    }
}

impl LanguageExt for Grammar {
    fn get_ts_language(&self) -> TSLanguage {
        self.0.grammar()
    }
}

/// Replaces `$` at the beginning of a metavariable: `$A`, `$_`, `$$$A`, `$$$`.
fn with_sign(query: &str, sign: char) -> String {
    let mut text = String::with_capacity(query.len());
    let mut dollars = 0;
    let put = |text: &mut String, dollars: usize, begins: bool| {
        text.extend(std::iter::repeat_n(if begins { sign } else { '$' }, dollars));
    };
    for letter in query.chars() {
        if letter == '$' {
            dollars += 1;
            continue;
        }
        put(&mut text, dollars, letter.is_ascii_uppercase() || letter == '_' || dollars == 3);
        dollars = 0;
        text.push(letter);
    }
    put(&mut text, dollars, dollars == 3);
    text
}
