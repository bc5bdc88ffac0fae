//! Pictures: `/images/generations`.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures::future::join_all;
use serde::{Deserialize, Serialize};

use super::Server;
use super::send::unwritable;
use crate::http::{Mode, Post, Reporter, RequestText, post, read_picture_body};
use crate::image::{joined, split};
use crate::{Billed, Fault, ImageBackground, ImageCall, ImageData, ImageReply, ImageShape, Phase, ReplyImage, Usage};

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    prompt: &'a str,
    n: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    aspect_ratio: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quality: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    background: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user: Option<&'a str>,
}

#[derive(Deserialize)]
struct Drawn {
    data: Option<Vec<Picture>>,
    usage: Option<Figures>,
    model: Option<String>,
}

#[derive(Deserialize)]
struct Picture {
    b64_json: Option<String>,
    url: Option<String>,
    revised_prompt: Option<String>,
}

#[derive(Deserialize)]
struct Figures {
    input_tokens: Option<u32>,
    output_tokens: Option<u32>,
}

/// Draws all pictures, in several calls where the model draws fewer in one.
pub(super) async fn draw(server: Arc<Server>, call: ImageCall) -> Result<ImageReply, Fault> {
    let reporter = Reporter::new(Arc::clone(&server.origin), RequestText::Image(Arc::clone(&call.request)));
    let calls = split(call.request.n, call.per_call).into_iter().map(|n| draw_some(&server, &reporter, &call, n));
    joined(join_all(calls).await)
}

async fn draw_some(server: &Server, reporter: &Reporter, call: &ImageCall, n: u32) -> Result<ImageReply, Fault> {
    let request = Post {
        url: server.images.clone(),
        body: Bytes::from(encode(server, call, n)?),
        mode: Mode::Whole,
        timeouts: call.timeouts,
        request_id: &call.request_id,
        traceparent: call.traceparent.as_deref(),
    };
    let response = post(&server.origin, reporter, request).await?;
    let body = read_picture_body(reporter, response, call.timeouts.first_delta).await?;
    read(reporter, &body, call, n)
}

fn encode(server: &Server, call: &ImageCall, n: u32) -> Result<Vec<u8>, Fault> {
    let request = &call.request;
    let (size, aspect_ratio) = match call.shape {
        ImageShape::Auto => (None, None),
        ImageShape::Size(size) => (Some(size.to_string()), None),
        ImageShape::Ratio(ratio) => (None, Some(ratio.to_string())),
    };
    let body = Body {
        model: &call.upstream_model,
        prompt: &request.prompt,
        n,
        size,
        aspect_ratio,
        quality: call.quality.map(crate::ImageQuality::as_str),
        background: (request.background == ImageBackground::Opaque && !call.requests_base64).then_some("opaque"),
        response_format: call.requests_base64.then_some("b64_json"),
        user: request.user.as_deref().filter(|_| server.dialect.takes_names()),
    };
    serde_json::to_vec(&body).map_err(unwritable)
}

fn read(reporter: &Reporter, body: &[u8], call: &ImageCall, n: u32) -> Result<ImageReply, Fault> {
    let malformed =
        |why: &dyn std::fmt::Display| reporter.transient(Phase::Body, format_args!("sent a malformed answer: {why}"));
    let drawn: Drawn = serde_json::from_slice(body).map_err(|error| malformed(&error))?;
    let Some(data) = drawn.data else {
        let value: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
        return Err(match value.get("error") {
            Some(error) if !error.is_null() => reporter.reported(Phase::Body, &value),
            _ => malformed(&"no pictures"),
        });
    };
    let usage = drawn.usage.and_then(|figures| {
        let (prompt_tokens, completion_tokens) = (figures.input_tokens?, figures.output_tokens?);
        Some(Usage { prompt_tokens, completion_tokens, estimated: false })
    });
    let billed = Billed { usage, images: u32::try_from(data.len()).unwrap_or(u32::MAX) };
    let paid = |fault: Fault| Fault { billed: Some(billed), ..fault };
    if data.len() != n as usize {
        return Err(paid(malformed(&format_args!("{} pictures for {n}", data.len()))));
    }
    let images: Result<Vec<_>, Fault> =
        data.into_iter().map(|picture| content(picture).map_err(|why| malformed(&why))).collect();
    let model = drawn.model.unwrap_or_else(|| call.upstream_model.clone());
    Ok(ImageReply { images: images.map_err(paid)?, usage, model })
}

fn content(picture: Picture) -> Result<ReplyImage, String> {
    let data = match (picture.b64_json, picture.url) {
        (Some(text), _) if !text.is_empty() => {
            ImageData::Bytes(STANDARD.decode(text.trim_ascii()).map_err(|_| "a picture is not base64".to_owned())?)
        }
        (_, Some(url)) if !url.is_empty() => ImageData::Url(url),
        _ => return Err("a picture has neither b64_json nor url".to_owned()),
    };
    Ok(ReplyImage { data, revised_prompt: picture.revised_prompt.filter(|text| !text.is_empty()) })
}
