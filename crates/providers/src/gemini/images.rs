//! Pictures: `generateContent` with the modality `IMAGE`, one picture a call.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::future::join_all;
use serde::{Deserialize, Serialize};

use super::body::invalid;
use super::complete::fault;
use super::send::{Method, address};
use super::wire::{self, UsageMetadata};
use crate::http::{Broken, Origin, Post, Reporter, RequestText, post, read_picture_body};
use crate::image::joined;
use crate::{
    AspectRatio, Billed, ClientFault, Fault, FaultClass, ImageCall, ImageData, ImageReply, ImageShape, Phase,
    ReplyImage,
};

/// Aspect ratios of the API.
const RATIOS: [(u32, u32); 10] = [(1, 1), (2, 3), (3, 2), (3, 4), (4, 3), (4, 5), (5, 4), (9, 16), (16, 9), (21, 9)];

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    contents: [Content<'a>; 1],
    generation_config: GenerationConfig,
}

#[derive(Serialize)]
struct Content<'a> {
    role: &'static str,
    parts: [Text<'a>; 1],
}

#[derive(Serialize)]
struct Text<'a> {
    text: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig {
    response_modalities: [&'static str; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    image_config: Option<ImageConfig>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ImageConfig {
    aspect_ratio: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Drawn {
    #[serde(default)]
    candidates: Vec<Candidate>,
    prompt_feedback: Option<Feedback>,
    usage_metadata: Option<UsageMetadata>,
    model_version: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    block_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    content: Option<Parts>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Parts {
    #[serde(default)]
    parts: Vec<Part>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    inline_data: Option<InlineData>,
    /// A draft of a model that thinks in pictures.
    thought: Option<bool>,
}

#[derive(Deserialize)]
struct InlineData {
    data: String,
}

/// Draws the pictures, each in a call of its own.
pub(super) async fn draw(origin: Arc<Origin>, call: ImageCall) -> Result<ImageReply, Fault> {
    let reporter = Reporter::new(Arc::clone(&origin), RequestText::Image(Arc::clone(&call.request)));
    let body = encode(&call)?;
    let one = |_| draw_one(&origin, &reporter, &call, body.clone());
    joined(join_all((0..call.request.n.clamp(1, crate::MAX_IMAGES)).map(one)).await)
}

async fn draw_one(
    origin: &Origin,
    reporter: &Reporter,
    call: &ImageCall,
    body: bytes::Bytes,
) -> Result<ImageReply, Fault> {
    let request = Post {
        url: address(&origin.base, &call.upstream_model, Method::Generate),
        body,
        mode: Method::Generate.mode(),
        timeouts: call.timeouts,
        request_id: &call.request_id,
        traceparent: call.traceparent.as_deref(),
    };
    let response = post(origin, reporter, request).await?;
    let body = read_picture_body(reporter, response, call.timeouts.first_delta).await?;
    read(reporter, &body, call)
}

fn encode(call: &ImageCall) -> Result<bytes::Bytes, Fault> {
    let ratio = match call.shape {
        ImageShape::Auto => None,
        ImageShape::Ratio(ratio) => Some(ratio),
        ImageShape::Size(size) => {
            let ratios = RATIOS.map(|(width, height)| AspectRatio { width, height }).to_vec();
            match crate::ImageShapes::Ratios(ratios).nearest(Some(size)) {
                ImageShape::Ratio(ratio) => Some(ratio),
                ImageShape::Auto | ImageShape::Size(_) => None,
            }
        }
    };
    let image_config = ratio.map(|ratio| ImageConfig { aspect_ratio: ratio.to_string() });
    let body = Body {
        contents: [Content { role: "user", parts: [Text { text: &call.request.prompt }] }],
        generation_config: GenerationConfig { response_modalities: ["IMAGE"], image_config },
    };
    serde_json::to_vec(&body).map(Into::into).map_err(|error| invalid(error.to_string()))
}

fn read(reporter: &Reporter, body: &[u8], call: &ImageCall) -> Result<ImageReply, Fault> {
    // An error inside a success, in any of its forms.
    if let Err(broken @ Broken::Reported(_)) = wire::read(body) {
        return Err(fault(reporter, Phase::Body, broken));
    }
    let malformed =
        |why: &dyn std::fmt::Display| reporter.transient(Phase::Body, format_args!("sent a malformed answer: {why}"));
    let drawn: Drawn = serde_json::from_slice(body).map_err(|error| malformed(&error))?;
    let usage = drawn.usage_metadata.as_ref().and_then(UsageMetadata::usage);
    let blocked = drawn.prompt_feedback.and_then(|feedback| feedback.block_reason);
    if let Some(reason) = blocked.filter(|reason| !reason.is_empty() && reason != "BLOCK_REASON_UNSPECIFIED") {
        return Err(refusal(reporter, &reason));
    }
    let Some(candidate) = drawn.candidates.into_iter().next() else { return Err(malformed(&"no candidates")) };
    let parts = candidate.content.map(|content| content.parts).unwrap_or_default();
    let picture = parts.into_iter().filter(|part| part.thought != Some(true)).find_map(|part| part.inline_data);
    let Some(picture) = picture else {
        let reason = candidate.finish_reason.unwrap_or_default();
        return Err(if is_refusal(&reason) {
            refusal(reporter, &reason)
        } else {
            malformed(&format_args!("no picture, ended with {reason:?}"))
        });
    };
    let Ok(bytes) = STANDARD.decode(picture.data.trim_ascii()) else {
        return Err(Fault { billed: Some(Billed { usage, images: 1 }), ..malformed(&"a picture is not base64") });
    };
    let model = drawn.model_version.unwrap_or_else(|| call.upstream_model.clone());
    let image = ReplyImage { data: ImageData::Bytes(bytes), revised_prompt: None };
    Ok(ImageReply { images: vec![image], usage, model })
}

/// Reasons for which the model draws nothing because of the prompt.
fn is_refusal(reason: &str) -> bool {
    matches!(
        reason,
        "SAFETY"
            | "RECITATION"
            | "BLOCKLIST"
            | "PROHIBITED_CONTENT"
            | "SPII"
            | "MODEL_ARMOR"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "IMAGE_RECITATION"
    )
}

fn refusal(reporter: &Reporter, reason: &str) -> Fault {
    let reason: String = reason.chars().take(100).collect();
    let message = reporter.transient(Phase::Body, format_args!("refused the prompt: {reason}")).message;
    Fault {
        client: Some(ClientFault::ContentPolicy),
        param: Some("prompt".to_owned()),
        reported: true,
        ..Fault::new(FaultClass::Client, Phase::Body, message)
    }
}
