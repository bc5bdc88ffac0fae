//! Turns to tokens, by the model's own chat template.
//!
//! Only the template's own text may become control tokens. The template is rendered with a mark in the place of each
//! turn's content, and contents are tokenized apart, as plain text: `<|im_end|>` written by a user stays text.

use std::sync::Arc;

use llama_cpp_2::model::{LlamaChatMessage, LlamaChatTemplate, LlamaModel};
use llama_cpp_2::token::LlamaToken;

use crate::chat::{ModelError, Role, Turn};

/// Encloses the number of a turn; control characters that no template contains.
const MARK_OPEN: char = '\u{2}';
const MARK_CLOSE: char = '\u{3}';

/// Tokenizes for one model, from any thread.
#[derive(Debug)]
pub(super) struct Prompter {
    model: Arc<LlamaModel>,
    template: LlamaChatTemplate,
    /// Bytes of the longest token, at least 1.
    longest: usize,
}

/// A piece of a rendered prompt.
#[derive(Debug, PartialEq, Eq)]
enum Piece<'a> {
    Template(&'a str),
    Content(usize),
}

impl Prompter {
    /// Refuses a model without a template that llama.cpp knows: it was not made for chat.
    pub(super) fn new(model: Arc<LlamaModel>) -> Result<Self, String> {
        let template = model.chat_template(None).map_err(|error| format!("no chat template in the file: {error}"))?;
        let longest = model.tokens(true).map(|(_, bytes)| bytes.len()).max().unwrap_or(1).max(1);
        let prompter = Self { model, template, longest };
        let probe = Turn::text(Role::User, "hello");
        prompter.tokens(&[probe]).map_err(|error| format!("its chat template is not known here: {error}"))?;
        Ok(prompter)
    }

    /// The whole prompt of turns without calls, ending where the assistant begins to speak.
    pub(super) fn tokens(&self, turns: &[Turn]) -> Result<Vec<LlamaToken>, ModelError> {
        if turns.is_empty() {
            return Err(unsupported("at least one message is needed".to_owned()));
        }
        let rendered = self.render(turns)?;
        let pieces = split(&rendered);
        let used =
            pieces.iter().filter_map(|piece| if let Piece::Content(index) = piece { Some(*index) } else { None });
        if !used.eq(0..turns.len()) {
            return Err(unsupported("this model's chat template has no place for one of these messages".to_owned()));
        }
        let vocab = self.model.vocab();
        let mut tokens = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Template(text) => vocab.tokenize_into(text.as_bytes(), &mut tokens, false, true),
                Piece::Content(index) => {
                    let content = turns.get(index).map_or("", |turn| turn.content.as_str());
                    tokens.append(&mut self.plain(content));
                }
            }
        }
        if vocab.should_add_bos() && tokens.first() != Some(&vocab.bos()) {
            tokens.insert(0, vocab.bos());
        }
        Ok(tokens)
    }

    /// Tokens that the turns have at least, without the time that tokenizing a megabyte takes.
    pub(super) fn at_least(&self, turns: &[Turn]) -> u32 {
        let bytes: usize = turns.iter().map(|turn| turn.content.len()).sum();
        u32::try_from(bytes / self.longest).unwrap_or(u32::MAX)
    }

    /// Tokens of a text in which nothing is special.
    pub(super) fn plain(&self, text: &str) -> Vec<LlamaToken> {
        if text.is_empty() { Vec::new() } else { self.model.vocab().tokenize(text.as_bytes(), false, false) }
    }

    fn render(&self, turns: &[Turn]) -> Result<String, ModelError> {
        let message = |(index, turn): (usize, &Turn)| {
            let role = match turn.role {
                Role::System => "system",
                Role::User => "user",
                Role::Assistant => "assistant",
                Role::Tool => "tool",
            };
            LlamaChatMessage::new(role.to_owned(), format!("{MARK_OPEN}{index}{MARK_CLOSE}"))
        };
        let marked: Result<Vec<_>, _> = turns.iter().enumerate().map(message).collect();
        let marked = marked.map_err(|error| unsupported(error.to_string()))?;
        self.model.apply_chat_template(&self.template, &marked, true).map_err(|error| unsupported(error.to_string()))
    }
}

fn unsupported(why: String) -> ModelError {
    ModelError::Unsupported { field: "messages".into(), why }
}

fn split(rendered: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    for (nth, part) in rendered.split(MARK_OPEN).enumerate() {
        let text = match part.split_once(MARK_CLOSE) {
            Some((index, text)) if nth > 0 => {
                // A mark that is not a number is none of ours and is then missed among the contents.
                pieces.extend(index.parse().ok().map(Piece::Content));
                text
            }
            _ => part,
        };
        if !text.is_empty() {
            pieces.push(Piece::Template(text));
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::{Piece, split};

    #[test]
    fn marks_are_found_in_order() {
        let rendered = "<|im_start|>user\n\u{2}0\u{3}<|im_end|>\n<|im_start|>user\n\u{2}12\u{3}";
        let pieces = split(rendered);
        let expected = [
            Piece::Template("<|im_start|>user\n"),
            Piece::Content(0),
            Piece::Template("<|im_end|>\n<|im_start|>user\n"),
            Piece::Content(12),
        ];
        assert_eq!(pieces, expected);
    }
}
