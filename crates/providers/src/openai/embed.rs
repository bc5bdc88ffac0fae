//! Embeddings.

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;

use super::Server;
use super::dialect::{Dialect, DimensionsField};
use super::send::unwritable;
use super::vectors::{Embeddings, NoVectors};
use crate::http::{Mode, Post, Reporter, RequestText, post, read_body};
use crate::{EmbedCall, EmbedInput, EmbedReply, EmbedRequest, Fault, Phase};

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    input: Vec<WireInput<'a>>,
    encoding_format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_dimension: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum WireInput<'a> {
    Text(&'a str),
    Tokens(&'a [u32]),
}

impl<'a> From<&'a EmbedInput> for WireInput<'a> {
    fn from(input: &'a EmbedInput) -> Self {
        match input {
            EmbedInput::Text(text) => Self::Text(text),
            EmbedInput::Tokens(tokens) => Self::Tokens(tokens),
        }
    }
}

pub(super) async fn embed(server: Arc<Server>, call: EmbedCall) -> Result<EmbedReply, Fault> {
    let body = encode(&call.upstream_model, &call.request, server.dialect)?;
    let reporter = Reporter::new(Arc::clone(&server.origin), RequestText::Embed(Arc::clone(&call.request)));
    let request = Post {
        url: server.embeddings.clone(),
        body: Bytes::from(body),
        mode: Mode::Whole,
        timeouts: call.timeouts,
        request_id: &call.request_id,
        traceparent: call.traceparent.as_deref(),
    };
    let response = post(&server.origin, &reporter, request).await?;
    let body = read_body(&reporter, response, call.timeouts.first_delta, Phase::Body).await?;
    let mut reply = read(&reporter, &body, call.request.inputs.len())?;
    let length = reply.vectors.first().map_or(0, Vec::len);
    if let Some(wanted) = call.request.dimensions.filter(|wanted| usize::try_from(*wanted) != Ok(length)) {
        let why = format!("{} gave vectors of {length} numbers, not of {wanted}", server.origin.provider_id);
        return Err(Fault { phase: Phase::Body, ..Fault::unsupported("dimensions", why) });
    }
    if reply.model.is_empty() {
        reply.model = call.upstream_model;
    }
    Ok(reply)
}

fn encode(model: &str, request: &EmbedRequest, dialect: Dialect) -> Result<Vec<u8>, Fault> {
    let tokens = request.inputs.iter().any(|input| matches!(input, EmbedInput::Tokens(_)));
    if tokens && !dialect.embeds_tokens() {
        return Err(Fault::unsupported("input", "this provider takes texts, not tokens: send the text itself"));
    }
    let field = dialect.dimensions_field();
    let body = Body {
        model,
        input: request.inputs.iter().map(WireInput::from).collect(),
        encoding_format: "float",
        dimensions: request.dimensions.filter(|_| field == DimensionsField::Dimensions),
        output_dimension: request.dimensions.filter(|_| field == DimensionsField::OutputDimension),
        user: request.user.as_deref().filter(|_| dialect.takes_names()),
    };
    serde_json::to_vec(&body).map_err(unwritable)
}

fn read(reporter: &Reporter, body: &[u8], wanted: usize) -> Result<EmbedReply, Fault> {
    let malformed =
        |why: &dyn std::fmt::Display| reporter.transient(Phase::Body, format_args!("sent a malformed answer: {why}"));
    let embeddings: Embeddings = serde_json::from_slice(body).map_err(|e| malformed(&e))?;
    embeddings.into_reply(wanted).map_err(|why| match why {
        NoVectors::Reported => reporter.reported(Phase::Body, &serde_json::from_slice(body).unwrap_or_default()),
        NoVectors::Malformed(why) => malformed(&why),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn request(inputs: Vec<EmbedInput>) -> EmbedRequest {
        EmbedRequest { inputs, dimensions: Some(256), user: Some("u1".into()) }
    }

    fn sent(request: &EmbedRequest, dialect: Dialect) -> Value {
        serde_json::from_slice(&encode("m", request, dialect).unwrap()).unwrap()
    }

    #[test]
    fn embedding_inputs_are_encoded_for_openai() {
        let texts = request(vec![EmbedInput::Text("a".into()), EmbedInput::Text("b".into())]);
        assert_eq!(
            sent(&texts, Dialect::OpenAi),
            json!({"model": "m", "input": ["a", "b"], "encoding_format": "float", "dimensions": 256, "user": "u1"})
        );
        let tokens = EmbedRequest { dimensions: None, user: None, ..request(vec![EmbedInput::Tokens(vec![1, 2])]) };
        assert_eq!(
            sent(&tokens, Dialect::Common),
            json!({"model": "m", "input": [[1, 2]], "encoding_format": "float"})
        );
    }

    #[test]
    fn mistral_names_the_dimension_differently_and_rejects_tokens() {
        assert_eq!(
            sent(&request(vec![EmbedInput::Text("a".into())]), Dialect::Mistral),
            json!({"model": "m", "input": ["a"], "encoding_format": "float", "output_dimension": 256})
        );
        let fault = encode("m", &request(vec![EmbedInput::Tokens(vec![1])]), Dialect::Mistral).unwrap_err();
        assert_eq!((fault.client, fault.param.as_deref()), (Some(crate::ClientFault::Unsupported), Some("input")));
    }
}
