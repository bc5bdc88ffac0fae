//! Recognises text-only chunks without parsing them, since nearly all chunks are.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Content of a text-only chunk; borrowed from the chunk unless several choices have text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TextChunk<'a> {
    /// The value of `choices`.
    pub(super) choices: &'a str,
    /// Its text as escaped in the chunk, without the quotes; never empty.
    pub(super) escaped: Cow<'a, str>,
    /// Bit set of its choices: the highest index is 63.
    pub(super) numbers: u64,
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: Option<&'a RawValue>,
    usage: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
    #[serde(borrow)]
    object: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    index: Option<u32>,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    message: Option<IgnoredAny>,
    finish_reason: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    refusal: Option<IgnoredAny>,
    tool_calls: Option<IgnoredAny>,
    function_call: Option<IgnoredAny>,
}

/// Returns `None` if the chunk is anything else and must be parsed.
pub(super) fn text_chunk(data: &str) -> Option<TextChunk<'_>> {
    // serde accepts an array for a struct, by position.
    if !data.starts_with('{') {
        return None;
    }
    let chunk: Chunk<'_> = serde_json::from_str(data).ok()?;
    let is_error = chunk.error.is_some() || chunk.object.is_some_and(|object| object.get() == "\"error\"");
    if is_error || chunk.usage.is_some() {
        return None;
    }
    let choices = chunk.choices?.get();
    let Texts { escaped, numbers } = serde_json::from_str(choices).ok()?;
    (!escaped.is_empty()).then_some(TextChunk { choices, escaped, numbers })
}

/// Texts of all choices.
struct Texts<'a> {
    escaped: Cow<'a, str>,
    numbers: u64,
}

impl<'de> Deserialize<'de> for Texts<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(TextsVisitor)
    }
}

struct TextsVisitor;

impl<'de> Visitor<'de> for TextsVisitor {
    type Value = Texts<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("choices with nothing but text")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut texts = Texts { escaped: Cow::Borrowed(""), numbers: 0 };
        while let Some(choice) = seq.next_element::<Choice<'de>>()? {
            let (number, text) =
                choice.text().ok_or_else(|| serde::de::Error::custom("a choice with something else"))?;
            if texts.numbers & number != 0 {
                return Err(serde::de::Error::custom("a choice twice"));
            }
            texts.numbers |= number;
            if texts.escaped.is_empty() {
                texts.escaped = Cow::Borrowed(text);
            } else {
                texts.escaped.to_mut().push_str(text);
            }
        }
        Ok(texts)
    }
}

impl<'a> Choice<'a> {
    /// Returns the bit of its index and its escaped text; `None` if there is anything else.
    fn text(self) -> Option<(u64, &'a str)> {
        if self.message.is_some() || self.finish_reason.is_some() {
            return None;
        }
        let delta = self.delta?;
        if delta.refusal.is_some() || delta.tool_calls.is_some() || delta.function_call.is_some() {
            return None;
        }
        let text = match delta.content {
            Some(content) => content.get().strip_prefix('"')?.strip_suffix('"')?,
            None => "",
        };
        let number = 1_u64.checked_shl(self.index?)?;
        (!has_surrogate(text)).then_some((number, text))
    }
}

/// A surrogate escape: the parser decides whether the pair is complete.
fn has_surrogate(escaped: &str) -> bool {
    escaped.contains("\\ud") || escaped.contains("\\uD")
}

/// Decodes the escapes.
pub(super) fn unescape(escaped: &str) -> Option<String> {
    if escaped.contains('\\') { serde_json::from_str(&format!("\"{escaped}\"")).ok() } else { Some(escaped.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_only_chunks_are_recognised() {
        let choices = r#"[ {"index":0, "delta":{"role":"assistant","content":"say \"hé\"\n","reasoning":null},"logprobs":{"content":[]},"finish_reason":null} ]"#;
        let data = format!(r#"{{"id":"c","object":"chat.completion.chunk","choices": {choices} ,"usage":null}}"#);
        let chunk = text_chunk(&data).unwrap();
        assert_eq!((chunk.choices, chunk.numbers), (choices, 1));
        assert!(matches!(chunk.escaped, Cow::Borrowed(r#"say \"hé\"\n"#)));
        assert_eq!(unescape(&chunk.escaped).unwrap(), "say \"hé\"\n");
    }

    #[test]
    fn several_choices_have_the_text_of_all() {
        let data = r#"{"choices":[{"index":2,"delta":{"content":"a"}},{"index":0,"delta":{"content":null}},{"index":1,"delta":{"content":"b"}}]}"#;
        let chunk = text_chunk(data).unwrap();
        assert_eq!((&*chunk.escaped, chunk.numbers), ("ab", 0b111));
    }

    #[test]
    fn anything_else_is_left_to_the_parser() {
        for data in [
            "",
            "[DONE]",
            "[]",
            "{}",
            r#"[[{"index":0,"delta":{"content":"x"}}],null,null,null]"#,
            r#"{"choices":null}"#,
            r#"{"choices":[]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":""}}]}"#,
            r#"{"choices":[{"index":0,"delta":{}}]}"#,
            r#"{"choices":[{"delta":{"content":"no number"}}]}"#,
            r#"{"choices":[{"index":64,"delta":{"content":"too high"}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"a"}},{"index":0,"delta":{"content":"b"}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":[{"type":"text","text":"x"}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"x","refusal":"no"}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"x","tool_calls":[]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"x","function_call":{}}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":""}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"x"},"message":{"content":"x"}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"x"}}],"usage":{"prompt_tokens":1}}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"x"}}],"error":{"message":"no"}}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"x"}}],"object":"error"}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"\ud83d"}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"content":"x"}}]"#,
            r#"{"choices":[{"index":0,"delta":{"content":"x"}}],"choices":[]}"#,
        ] {
            assert_eq!(text_chunk(data), None, "{data}");
        }
    }
}
