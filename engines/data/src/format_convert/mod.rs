//! q112: Data format conversion.

mod document;
mod read;
mod secrets;
#[cfg(test)]
mod tests;
mod write;
mod xml;

use muster_engine::prelude::*;

#[derive(Input)]
pub struct Input {
    content: String,
    from: Format,
    to: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Words)]
#[wire(case = "lower")]
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

#[derive(Words)]
enum Encoding {
    Utf8,
    Base64,
}

#[derive(Output)]
pub struct Output {
    content: String,
    /// `base64` for CBOR and MessagePack, which are also read in this encoding.
    encoding: Encoding,
    /// What the target cannot represent, or JSON could not hold.
    warnings: Vec<String>,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    let document = read::read(&input.content, input.from)?;
    if let Some(warning) = secrets::warning(&secrets::find(&document.value)) {
        context.warn(warning);
    }
    let mut warnings = document.notes.warnings();
    let content = write::write(document.value, input.to, &mut warnings)?;
    let encoding = if matches!(input.to, Format::Cbor | Format::Msgpack) { Encoding::Base64 } else { Encoding::Utf8 };
    Ok(Output { content, encoding, warnings })
}

fn wrong(message: impl Into<String>) -> Failure {
    Failure::invalid(&["content"], message)
}
