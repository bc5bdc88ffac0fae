//! Embeddings.

use std::sync::Arc;

use futures::{StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};

use super::body::invalid;
use super::complete::fault;
use super::send::{Method, address, resource};
use crate::http::{Broken, Origin, Post, Reporter, RequestText, post, read_body};
use crate::{EmbedCall, EmbedInput, EmbedReply, Fault, Phase, Usage};

/// Limit of the API: "at most 100 requests can be in one batch".
const BATCH: usize = 100;
/// Concurrent batches of one call.
const CONCURRENT: usize = 4;

#[derive(Serialize)]
struct Body<'a> {
    requests: Vec<One<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct One<'a> {
    model: &'a str,
    content: Content<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_dimensionality: Option<u32>,
}

#[derive(Serialize)]
struct Content<'a> {
    parts: [Text<'a>; 1],
}

#[derive(Serialize)]
struct Text<'a> {
    text: &'a str,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Embedded {
    embeddings: Vec<Vector>,
    usage_metadata: Option<UsageMetadata>,
}

#[derive(Deserialize)]
struct Vector {
    values: Vec<f32>,
}

/// Only sent by newer models.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UsageMetadata {
    prompt_token_count: Option<u32>,
}

/// Splits the inputs into batches. If one fails, the call fails and the other batches are cancelled.
pub(super) async fn embed(origin: Arc<Origin>, call: EmbedCall) -> Result<EmbedReply, Fault> {
    let reporter = Reporter::new(Arc::clone(&origin), RequestText::Embed(Arc::clone(&call.request)));
    let bodies = bodies(&call)?;
    let batches: Vec<Embedded> = futures::stream::iter(bodies)
        .map(|(expected, body)| batch(&origin, &reporter, &call, expected, body))
        .buffered(CONCURRENT)
        .try_collect()
        .await?;
    let usage = usage(&batches);
    let vectors = batches.into_iter().flat_map(|batch| batch.embeddings).map(|vector| vector.values).collect();
    Ok(EmbedReply { vectors, usage, model: call.upstream_model })
}

/// Returns each batch with the number of its texts.
fn bodies(call: &EmbedCall) -> Result<Vec<(usize, Vec<u8>)>, Fault> {
    let model = resource(&call.upstream_model);
    let mut texts = Vec::with_capacity(call.request.inputs.len());
    for input in &call.request.inputs {
        match input {
            EmbedInput::Text(text) => texts.push(text.as_str()),
            EmbedInput::Tokens(_) => {
                return Err(Fault::unsupported("input", "this provider takes no tokens; send the input as text"));
            }
        }
    }
    let encode = |batch: &[&str]| {
        let one = |text| One {
            model: &model,
            content: Content { parts: [Text { text }] },
            output_dimensionality: call.request.dimensions,
        };
        let body = serde_json::to_vec(&Body { requests: batch.iter().copied().map(one).collect() });
        body.map(|body| (batch.len(), body)).map_err(|error| invalid(error.to_string()))
    };
    texts.chunks(BATCH).map(encode).collect()
}

async fn batch(
    origin: &Origin,
    reporter: &Reporter,
    call: &EmbedCall,
    expected: usize,
    body: Vec<u8>,
) -> Result<Embedded, Fault> {
    let request = Post {
        url: address(&origin.base, &call.upstream_model, Method::Embed),
        body: body.into(),
        mode: Method::Embed.mode(),
        timeouts: call.timeouts,
        request_id: &call.request_id,
        traceparent: call.traceparent.as_deref(),
    };
    let response = post(origin, reporter, request).await?;
    let body = read_body(reporter, response, call.timeouts.first_delta, Phase::Body).await?;
    let embedded = parse(&body).map_err(|broken| fault(reporter, Phase::Body, broken))?;
    if embedded.embeddings.len() != expected {
        let why = format!("{} vectors for {expected} texts", embedded.embeddings.len());
        return Err(fault(reporter, Phase::Body, Broken::Malformed(why)));
    }
    Ok(embedded)
}

fn parse(body: &[u8]) -> Result<Embedded, Broken> {
    serde_json::from_slice(body).map_err(|error| match super::wire::read(body) {
        Err(Broken::Reported(part_or_error)) => Broken::Reported(part_or_error),
        _ => Broken::Malformed(error.to_string()),
    })
}

/// Sums the usage of all batches; `None` if one of them reported none.
fn usage(batches: &[Embedded]) -> Option<Usage> {
    let mut figures = batches.iter().map(|batch| batch.usage_metadata.as_ref()?.prompt_token_count);
    let prompt_tokens = figures.try_fold(0_u32, |sum, tokens| Some(sum.saturating_add(tokens?)))?;
    Some(Usage { prompt_tokens, completion_tokens: 0, estimated: false })
}
