//! Vectors of an answer: numbers, or base64 of little-endian 32-bit floats.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde_json::Value;

use crate::{EmbedReply, Usage};

/// An embedding answer, parsed leniently.
#[derive(Debug, Deserialize)]
pub(super) struct Embeddings {
    data: Option<Vec<Embedding>>,
    model: Option<String>,
    usage: Option<UsageMetadata>,
    error: Option<Value>,
    object: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Embedding {
    index: Option<usize>,
    embedding: Vector,
}

#[derive(Debug, Deserialize)]
struct UsageMetadata {
    prompt_tokens: Option<u64>,
}

/// Why an answer has no vectors.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoVectors {
    /// It is an error with a status of success.
    Reported,
    Malformed(String),
}

impl Embeddings {
    /// Returns the vectors in the order of the inputs, all of the same length; one without an index counts by position.
    pub(super) fn into_reply(self, wanted: usize) -> Result<EmbedReply, NoVectors> {
        if self.error.is_some_and(|e| !e.is_null()) || self.object.is_some_and(|object| object == "error") {
            return Err(NoVectors::Reported);
        }
        let malformed = |why: String| Err(NoVectors::Malformed(why));
        let data = self.data.unwrap_or_default();
        if data.len() != wanted {
            return malformed(format!("{} vectors for {wanted} texts", data.len()));
        }
        let mut vectors = vec![Vec::new(); wanted];
        let mut length = None;
        for (place, Embedding { index, embedding: Vector(vector) }) in data.into_iter().enumerate() {
            if vector.is_empty() || *length.get_or_insert(vector.len()) != vector.len() {
                return malformed("vectors of different lengths, or empty ones".to_owned());
            }
            match vectors.get_mut(index.unwrap_or(place)) {
                Some(slot) if slot.is_empty() => *slot = vector,
                _ => return malformed("a vector for no text, or two for one".to_owned()),
            }
        }
        let tokens = self.usage.and_then(|usage| usage.prompt_tokens);
        let usage = tokens.map(|tokens| Usage {
            prompt_tokens: u32::try_from(tokens).unwrap_or(u32::MAX),
            completion_tokens: 0,
            estimated: false,
        });
        Ok(EmbedReply { vectors, usage, model: self.model.unwrap_or_default() })
    }
}

#[derive(Debug)]
struct Vector(Vec<f32>);

impl<'de> Deserialize<'de> for Vector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(VectorVisitor).map(Self)
    }
}

struct VectorVisitor;

impl<'de> Visitor<'de> for VectorVisitor {
    type Value = Vec<f32>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("numbers, or base64 of 32-bit floats")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut vector = Vec::new();
        while let Some(number) = seq.next_element::<f32>()? {
            vector.push(finite(number)?);
        }
        Ok(vector)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        let bytes = STANDARD.decode(text).map_err(E::custom)?;
        let (floats, rest) = bytes.as_chunks::<4>();
        if !rest.is_empty() {
            return Err(E::custom("base64 of no whole number of floats"));
        }
        floats.iter().map(|bytes| finite(f32::from_le_bytes(*bytes))).collect()
    }
}

/// Infinities and NaN are not comparable.
fn finite<E: Error>(number: f32) -> Result<f32, E> {
    if number.is_finite() { Ok(number) } else { Err(E::custom("a number that is not finite")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str, wanted: usize) -> Result<EmbedReply, NoVectors> {
        match serde_json::from_str::<Embeddings>(body) {
            Ok(embeddings) => embeddings.into_reply(wanted),
            Err(error) => Err(NoVectors::Malformed(error.to_string())),
        }
    }

    /// 1.0 is 0x3F800000 and -2.5 is 0xC0200000 (IEEE 754), lowest byte first.
    #[test]
    fn numbers_and_base64_decode_to_the_same_vectors() {
        let numbers = r#"{"object":"list","data":[{"index":0,"embedding":[1,-2.5]}],"model":"e","usage":{"prompt_tokens":3,"total_tokens":3}}"#;
        let base64 = numbers.replace("[1,-2.5]", "\"AACAPwAAIMA=\"");
        let usage = Some(Usage { prompt_tokens: 3, completion_tokens: 0, estimated: false });
        for body in [numbers, base64.as_str()] {
            let expected = EmbedReply { vectors: vec![vec![1.0, -2.5]], usage, model: "e".into() };
            assert_eq!(read(body, 1).unwrap(), expected);
        }
    }

    #[test]
    fn vectors_are_ordered_by_text() {
        for (body, expected) in [
            (r#"{"data":[{"index":1,"embedding":[1]},{"index":0,"embedding":[2]}]}"#, [[2.0], [1.0]]),
            (r#"{"data":[{"embedding":[1]},{"embedding":[2]}]}"#, [[1.0], [2.0]]),
        ] {
            let reply = read(body, 2).unwrap();
            assert_eq!(reply.vectors, expected, "{body}");
            assert_eq!(reply.usage, None);
        }
    }

    #[test]
    fn invalid_embedding_responses_are_rejected() {
        for body in [
            "{}",
            r#"{"data":[]}"#,
            r#"{"data":[{"index":0,"embedding":[1]}]}"#,
            r#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}"#,
            r#"{"data":[{"index":0,"embedding":[1]},{"index":2,"embedding":[1]}]}"#,
            r#"{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[]}]}"#,
            r#"{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1,2]}]}"#,
            r#"{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[null]}]}"#,
            r#"{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[1e99]}]}"#,
            r#"{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":"AACAPw"}]}"#,
            r#"{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":"AACA"}]}"#,
            r#"{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":"AADAfw=="}]}"#,
        ] {
            assert!(matches!(read(body, 2), Err(NoVectors::Malformed(_))), "{body}");
        }
        for body in [r#"{"error":{"message":"no"}}"#, r#"{"object":"error","message":"no"}"#] {
            assert_eq!(read(body, 2), Err(NoVectors::Reported));
        }
    }
}
