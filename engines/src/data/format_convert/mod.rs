//! q112: Data format conversion.

mod document;
mod read;
#[cfg(test)]
mod tests;
mod write;
mod xml;

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::engine::call;
use crate::{Context, Engine, Failure, Family, Nature};

pub static ENGINE: Engine = Engine {
    number: 112,
    id: "format-convert",
    name: "Data format conversion",
    family: Family::Data,
    nature: Nature::Pure,
    summary: "Convert between JSON, YAML, TOML, CSV, XML, NDJSON, CBOR and MessagePack with loss warnings.",
    inputs: &[
        "content:string:-:required",
        "from:enum(json|yaml|toml|csv|xml|ndjson|cbor|msgpack):-:required",
        "to:enum(json|yaml|toml|csv|xml|ndjson|cbor|msgpack):-:required",
    ],
    outputs: &["content:string:-", "encoding:enum(utf8|base64):-", "warnings:array<string>:-"],
    method: "Through serde_json::Value; XML by the BadgerFish-like attribute convention (@attr, #text); binary formats base64.",
    reference: "RFC 8259, YAML 1.2.2 examples, TOML 1.0, RFC 8949 appendix A, MessagePack spec",
    example: r#"{ "content": "a: 1\nb: [x, y]\n", "from": "yaml", "to": "json" }"#,
    function: |input, context| call(convert, input, context),
    fields: OnceLock::new(),
};

#[derive(Deserialize)]
struct Input {
    content: String,
    from: Format,
    to: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Format {
    Json,
    Yaml,
    Toml,
    Csv,
    Xml,
    Ndjson,
    Cbor,
    Msgpack,
}

#[derive(Serialize)]
struct Output {
    content: String,
    /// `base64` for CBOR and MessagePack, which are also read in this encoding.
    encoding: &'static str,
    /// What the target cannot represent, or JSON could not hold.
    warnings: Vec<String>,
}

fn convert(input: Input, _context: &Context) -> Result<Output, Failure> {
    let document = read::read(&input.content, input.from)?;
    let mut warnings = document.notes.warnings();
    let content = write::write(document.value, input.to, &mut warnings)?;
    let encoding = if matches!(input.to, Format::Cbor | Format::Msgpack) { "base64" } else { "utf8" };
    Ok(Output { content, encoding, warnings })
}

fn wrong(message: impl Into<String>) -> Failure {
    Failure::invalid(&["content"], message)
}
