//! Sends one request.

use std::sync::Arc;

use reqwest::Response;

use super::body::encode;
use crate::http::{Mode, Origin, Post, Reporter, RequestText, post};
use crate::{Call, Fault};

pub(super) fn reporter(origin: &Arc<Origin>, call: &Call) -> Reporter {
    Reporter::new(Arc::clone(origin), RequestText::Chat(Arc::clone(&call.request)))
}

/// Sends the call and returns the response once its headers report success.
pub(super) async fn send(origin: &Origin, reporter: &Reporter, call: &Call, mode: Mode) -> Result<Response, Fault> {
    let request = Post {
        url: origin.endpoint("/messages"),
        body: encode(call, mode)?.into(),
        mode,
        timeouts: call.timeouts,
        request_id: &call.request_id,
        traceparent: call.traceparent.as_deref(),
    };
    post(origin, reporter, request).await
}
