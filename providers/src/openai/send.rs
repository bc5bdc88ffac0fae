//! One chat request on its way.

use std::sync::Arc;

use reqwest::Response;

use super::Server;
use super::body::encode;
use crate::http::{Asked, Mode, Post, Reporter, post};
use crate::{Call, ClientFault, Fault, FaultClass, Phase};

pub(super) fn reporter(server: &Server, call: &Call) -> Reporter {
    Reporter::new(Arc::clone(&server.origin), Asked::Chat(Arc::clone(&call.request)))
}

/// Sends the call and returns the answer once its headers say success.
pub(super) async fn send(server: &Server, reporter: &Reporter, call: &Call, mode: Mode) -> Result<Response, Fault> {
    let body = encode(call, server.dialect, mode).map_err(|error| Fault {
        client: Some(ClientFault::InvalidRequest),
        ..Fault::new(FaultClass::Client, Phase::Connect, error.to_string())
    })?;
    let request = Post {
        url: server.origin.endpoint("/chat/completions"),
        body: body.into(),
        mode,
        timeouts: call.timeouts,
        request_id: &call.request_id,
        traceparent: call.traceparent.as_deref(),
    };
    post(&server.origin, reporter, request).await
}
