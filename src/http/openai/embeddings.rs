//! Embeddings of interface B in the format of OpenAI.

use actix_web::{HttpRequest, web};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use muster_limits::Estimate;
use muster_providers::{EmbedInput, EmbedRequest};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::app::App;
use crate::chat;
use crate::error::HttpError;
use crate::error::sets::{OpenAi, RunErrors};
use crate::guard::{ChatB, Metered, Priced};
use muster_request::{Fields, Request};

const MAX_INPUTS: usize = 2048;

/// The encoding of a vector.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Encoding {
    #[default]
    Float,
    /// Little-endian 32-bit floats.
    Base64,
}

/// Texts to embed.
#[derive(Debug, Request)]
#[request(open, example = { "model": "all-MiniLM-L6-v2", "input": ["The river rises.", "The dam holds."] })]
pub struct EmbeddingsBody {
    /// `muster-embed` (in this process), or an embedding model of a configured provider. There is no failover to
    /// another model, because vectors of different models cannot be compared.
    #[request(chars = 1..=256)]
    pub model: String,
    /// A text, up to 2,048 texts, or texts as tokens of the provider's model.
    #[request(with = inputs, schema = crate::schema::Inputs)]
    pub input: Vec<EmbedInput>,
    /// Encoding of the vectors: `float`, or `base64` of little-endian 32-bit floats.
    #[request(default, schema = String)]
    #[schema(default = "float")]
    pub encoding_format: Encoding,
    /// Length of each vector, if the model supports shortening.
    #[request(range = 1..=65_536)]
    pub dimensions: Option<u32>,
    pub user: Option<String>,
}

fn inputs(fields: &mut Fields<'_>, name: &str) -> Option<Vec<EmbedInput>> {
    let read = match fields.value(name)? {
        Value::String(text) => Ok(vec![EmbedInput::Text(text.clone())]),
        Value::Array(items) if items.len() > MAX_INPUTS && !items.iter().all(Value::is_number) => {
            Err(format!("must hold at most {MAX_INPUTS} texts"))
        }
        Value::Array(items) => list(items),
        _ => Err("must be a string, an array of strings, or tokens".to_owned()),
    };
    let checked = read.and_then(|inputs| match inputs.iter().position(is_empty) {
        _ if inputs.is_empty() => Err("must hold at least one text".to_owned()),
        Some(index) => Err(format!("text {index} is empty")),
        None => Ok(inputs),
    });
    checked.map_err(|why| fields.fail(name, why)).ok()
}

fn is_empty(input: &EmbedInput) -> bool {
    match input {
        EmbedInput::Text(text) => text.is_empty(),
        EmbedInput::Tokens(tokens) => tokens.is_empty(),
    }
}

fn list(items: &[Value]) -> Result<Vec<EmbedInput>, String> {
    let token = |value: &Value| value.as_u64().and_then(|number| u32::try_from(number).ok());
    let tokens = |items: &[Value]| items.iter().map(token).collect::<Option<Vec<u32>>>();
    if items.first().is_some_and(Value::is_number) {
        let tokens = tokens(items).ok_or("holds something that is no token")?;
        return Ok(vec![EmbedInput::Tokens(tokens)]);
    }
    let one = |(index, item): (usize, &Value)| match item {
        Value::String(text) => Ok(EmbedInput::Text(text.clone())),
        Value::Array(items) => tokens(items)
            .map(EmbedInput::Tokens)
            .ok_or_else(|| format!("item {index} holds something that is no token")),
        _ => Err(format!("item {index} is neither a text nor a list of tokens")),
    };
    items.iter().enumerate().map(one).collect()
}

impl Priced for EmbeddingsBody {
    fn estimate(&self, app: &App) -> Estimate {
        Estimate { prompt: chat::tokens_of_inputs(app, &self.input).into(), completion: 0 }
    }
}

/// One embedding.
#[derive(Debug, Serialize, ToSchema)]
pub struct Embedding {
    /// Always `embedding`.
    pub object: &'static str,
    /// Index of the text in the request.
    pub index: usize,
    /// The vector: numbers, or a base64 text if that was requested.
    pub embedding: Vector,
}

#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum Vector {
    Float(Vec<f32>),
    Base64(String),
}

#[derive(Debug, Serialize, ToSchema)]
pub struct EmbeddingsUsage {
    pub prompt_tokens: u32,
    pub total_tokens: u32,
    /// Whether the provider reported no usage, so that this server counted the tokens.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}

/// The embeddings, in the order of the texts.
#[derive(Debug, Serialize, ToSchema)]
pub struct Embeddings {
    /// Always `list`.
    pub object: &'static str,
    pub data: Vec<Embedding>,
    pub model: String,
    pub usage: EmbeddingsUsage,
}

fn written(vector: Vec<f32>, encoding: Encoding) -> Vector {
    match encoding {
        Encoding::Float => Vector::Float(vector),
        Encoding::Base64 => {
            let bytes: Vec<u8> = vector.into_iter().flat_map(f32::to_le_bytes).collect();
            Vector::Base64(STANDARD.encode(bytes))
        }
    }
}

/// Create embeddings
///
/// Returns vectors of texts in OpenAI's format. The embedded model `muster-embed` has 384 dimensions and vectors of
/// length 1.
#[utoipa::path(post, path = "/v1/embeddings", tag = "interface B", operation_id = "create_embeddings",
    request_body = EmbeddingsBody,
    responses((status = 200, description = "The vectors, in the order of the input", body = Embeddings),
        RunErrors<OpenAi>))]
pub async fn create(
    request: Metered<ChatB, EmbeddingsBody>,
    http: HttpRequest,
    app: web::Data<App>,
) -> Result<web::Json<Embeddings>, HttpError> {
    let Metered { body, reservation, .. } = request;
    let request = EmbedRequest { inputs: body.input, dimensions: body.dimensions, user: body.user };
    let got = chat::embed(&app, &http, body.model, request, reservation).await?;
    let vectors = got.reply.vectors.into_iter().enumerate();
    let data = vectors.map(|(index, vector)| Embedding {
        object: "embedding",
        index,
        embedding: written(vector, body.encoding_format),
    });
    let usage = got.usage;
    Ok(web::Json(Embeddings {
        object: "list",
        data: data.collect(),
        model: got.model_id,
        usage: EmbeddingsUsage {
            prompt_tokens: usage.prompt_tokens,
            total_tokens: usage.prompt_tokens,
            estimated: usage.estimated,
        },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(input: Value) -> Result<Vec<EmbedInput>, String> {
        let body = serde_json::json!({ "model": "m", "input": input });
        crate::body::from_json::<EmbeddingsBody>(&body).map(|body| body.input).map_err(|error| error.message)
    }

    #[test]
    fn all_four_forms_of_input_are_read() {
        let text = |text: &str| EmbedInput::Text(text.to_owned());
        assert_eq!(read("a".into()), Ok(vec![text("a")]));
        assert_eq!(read(serde_json::json!(["a", "b"])), Ok(vec![text("a"), text("b")]));
        assert_eq!(read(serde_json::json!([1, 2])), Ok(vec![EmbedInput::Tokens(vec![1, 2])]));
        let lists = vec![EmbedInput::Tokens(vec![1]), EmbedInput::Tokens(vec![2, 3])];
        assert_eq!(read(serde_json::json!([[1], [2, 3]])), Ok(lists));
        for bad in [
            serde_json::json!([]),
            serde_json::json!(""),
            serde_json::json!(["a", ""]),
            serde_json::json!([1, "a"]),
            serde_json::json!([[1], []]),
            serde_json::json!([-1]),
            serde_json::json!({}),
            serde_json::json!(vec!["a"; 2049]),
        ] {
            assert!(read(bad.clone()).is_err(), "{bad}");
        }
    }

    /// IEEE 754: 1.0 is 0x3f800000, -2.0 is 0xc0000000; little-endian, then RFC 4648.
    #[test]
    fn base64_is_little_endian() {
        let Vector::Base64(text) = written(vec![1.0, -2.0], Encoding::Base64) else { panic!("base64") };
        assert_eq!(text, "AACAPwAAAMA=");
    }
}
