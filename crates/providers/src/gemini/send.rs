//! Sends one request, and builds its URL.

use std::sync::Arc;

use reqwest::{Response, Url};

use super::body::encode;
use crate::http::{Mode, Origin, Post, Reporter, RequestText, post};
use crate::{Call, Fault};

/// API method of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Generate,
    Stream,
    Embed,
}

impl Method {
    fn name(self) -> &'static str {
        match self {
            Self::Generate => "generateContent",
            Self::Stream => "streamGenerateContent",
            Self::Embed => "batchEmbedContents",
        }
    }

    pub(super) fn mode(self) -> Mode {
        match self {
            Self::Generate | Self::Embed => Mode::Whole,
            Self::Stream => Mode::Streamed,
        }
    }
}

pub(super) fn reporter(origin: &Arc<Origin>, call: &Call) -> Reporter {
    Reporter::new(Arc::clone(origin), RequestText::Chat(Arc::clone(&call.request)))
}

/// Sends the call and returns the response once its headers report success.
pub(super) async fn send(origin: &Origin, reporter: &Reporter, call: &Call, method: Method) -> Result<Response, Fault> {
    let files = origin.endpoint("/files/");
    let request = Post {
        url: address(&origin.base, &call.upstream_model, method),
        body: encode(call, files.as_str())?.into(),
        mode: method.mode(),
        timeouts: call.timeouts,
        request_id: &call.request_id,
        traceparent: call.traceparent.as_deref(),
    };
    post(origin, reporter, request).await
}

/// Returns the resource name of a model with its collection: `models/…` unless the name includes one.
pub(super) fn resource(model: &str) -> String {
    if model.starts_with("models/") || model.starts_with("tunedModels/") {
        model.to_owned()
    } else {
        format!("models/{model}")
    }
}

/// Builds `{base}/models/{model}:{method}`. A name, which may be the client's, cannot escape its path segment.
pub(super) fn address(base: &Url, model: &str, method: Method) -> Url {
    let mut url = base.clone();
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(format!("{}:{}", resource(model), method.name()).split('/'));
    }
    if method == Method::Stream {
        // Without it the stream is one long JSON list.
        url.set_query(Some("alt=sse"));
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(base: &str, model: &str, method: Method) -> String {
        let url = address(&Url::parse(base).unwrap(), model, method);
        url.as_str().strip_prefix("https://host").unwrap().to_owned()
    }

    #[test]
    fn a_model_is_addressed_with_or_without_its_collection() {
        for model in ["gemini-3.1-pro-preview", "models/gemini-3.1-pro-preview"] {
            assert_eq!(
                path("https://host/v1beta", model, Method::Generate),
                "/v1beta/models/gemini-3.1-pro-preview:generateContent"
            );
        }
        assert_eq!(
            path("https://host/v1beta", "tunedModels/mine-1", Method::Stream),
            "/v1beta/tunedModels/mine-1:streamGenerateContent?alt=sse"
        );
        assert_eq!(path("https://host", "m", Method::Embed), "/models/m:batchEmbedContents");
    }

    #[test]
    fn model_names_cannot_change_the_path() {
        for (model, expected) in [
            ("a b?key=1#x", "/v1beta/models/a%20b%3Fkey=1%23x:generateContent"),
            ("../../v1/files", "/v1beta/models/v1/files:generateContent"),
            ("50%2f..", "/v1beta/models/50%252f..:generateContent"),
        ] {
            assert_eq!(path("https://host/v1beta", model, Method::Generate), expected);
        }
    }
}
