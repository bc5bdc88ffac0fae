//! Converts messages to tokens with the model's own chat template.
//!
//! Only the template's own text may become control tokens. The template is rendered with a placeholder for each
//! message's content, and contents are tokenized separately as plain text: `<|im_end|>` written by a user stays text.

use std::sync::Arc;

use llama_cpp_2::model::{LlamaChatMessage, LlamaChatTemplate, LlamaModel};
use llama_cpp_2::token::LlamaToken;

use crate::chat::{ChatTurn, ModelError, Role};

/// Opens a placeholder that encloses the message's index; a control character that no template contains.
const MARK_OPEN: char = '\u{2}';
const MARK_CLOSE: char = '\u{3}';

/// Tokenizes prompts for one model, from any thread.
#[derive(Debug)]
pub(super) struct PromptTokenizer {
    model: Arc<LlamaModel>,
    template: LlamaChatTemplate,
    /// Bytes of the longest token, at least 1.
    longest: usize,
}

/// A fragment of a rendered prompt.
#[derive(Debug, PartialEq, Eq)]
enum PromptPiece<'a> {
    Template(&'a str),
    Content(usize),
}

impl PromptTokenizer {
    /// Rejects a model without a template that llama.cpp knows: it was not made for chat.
    pub(super) fn new(model: Arc<LlamaModel>) -> Result<Self, String> {
        let template = model.chat_template(None).map_err(|error| format!("no chat template in the file: {error}"))?;
        let longest = model.tokens(true).map(|(_, bytes)| bytes.len()).max().unwrap_or(1).max(1);
        let prompter = Self { model, template, longest };
        let probe = ChatTurn::text(Role::User, "hello");
        prompter.tokens(&[probe]).map_err(|error| format!("its chat template is not known here: {error}"))?;
        Ok(prompter)
    }

    /// Tokenizes messages without calls, ending where the assistant's answer begins.
    pub(super) fn tokens(&self, turns: &[ChatTurn]) -> Result<Vec<LlamaToken>, ModelError> {
        if turns.is_empty() {
            return Err(unsupported("at least one message is needed".to_owned()));
        }
        let rendered = self.render(turns)?;
        let pieces = split(&rendered);
        let used =
            pieces.iter().filter_map(|piece| if let PromptPiece::Content(index) = piece { Some(*index) } else { None });
        if !used.eq(0..turns.len()) {
            return Err(unsupported("this model's chat template has no place for one of these messages".to_owned()));
        }
        let vocab = self.model.vocab();
        let mut tokens = Vec::new();
        for piece in pieces {
            match piece {
                PromptPiece::Template(text) => vocab.tokenize_into(text.as_bytes(), &mut tokens, false, true),
                PromptPiece::Content(index) => {
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

    /// Returns a lower bound of the messages' token count without tokenizing, which takes long for megabytes.
    pub(super) fn at_least(&self, turns: &[ChatTurn]) -> u32 {
        let bytes: usize = turns.iter().map(|turn| turn.content.len()).sum();
        u32::try_from(bytes / self.longest).unwrap_or(u32::MAX)
    }

    /// Tokenizes a text without interpreting control tokens.
    pub(super) fn plain(&self, text: &str) -> Vec<LlamaToken> {
        if text.is_empty() { Vec::new() } else { self.model.vocab().tokenize(text.as_bytes(), false, false) }
    }

    fn render(&self, turns: &[ChatTurn]) -> Result<String, ModelError> {
        let message = |(index, turn): (usize, &ChatTurn)| {
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

fn split(rendered: &str) -> Vec<PromptPiece<'_>> {
    let mut pieces = Vec::new();
    for (nth, part) in rendered.split(MARK_OPEN).enumerate() {
        let text = match part.split_once(MARK_CLOSE) {
            Some((index, text)) if nth > 0 => {
                // A placeholder without a number is not ours; it is then missing among the contents.
                pieces.extend(index.parse().ok().map(PromptPiece::Content));
                text
            }
            _ => part,
        };
        if !text.is_empty() {
            pieces.push(PromptPiece::Template(text));
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::{PromptPiece, split};

    #[test]
    fn markers_are_found_in_order() {
        let rendered = "<|im_start|>user\n\u{2}0\u{3}<|im_end|>\n<|im_start|>user\n\u{2}12\u{3}";
        let pieces = split(rendered);
        let expected = [
            PromptPiece::Template("<|im_start|>user\n"),
            PromptPiece::Content(0),
            PromptPiece::Template("<|im_end|>\n<|im_start|>user\n"),
            PromptPiece::Content(12),
        ];
        assert_eq!(pieces, expected);
    }
}
