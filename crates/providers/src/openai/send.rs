//! Sends one request.

use std::sync::Arc;

use bytes::Bytes;
use reqwest::{Response, Url};

use super::body::encode;
use super::verbatim::forward;
use super::{Reading, Server};
use crate::http::{Mode, Post, Reporter, RequestText, post};
use crate::{Call, ClientFault, Fault, FaultClass, Phase};

pub(super) fn reporter(server: &Server, call: &Call) -> Reporter {
    Reporter::new(Arc::clone(&server.origin), RequestText::Chat(Arc::clone(&call.request)))
}

/// Sends the call and returns the response once its headers report success, and how it is to be parsed.
pub(super) async fn send(
    server: &Server,
    reporter: &Reporter,
    call: &Call,
    mode: Mode,
) -> Result<(Response, Reading), Fault> {
    let forwarded = forward(call, server.dialect, &server.forward, mode);
    let reading = Reading::of(call, forwarded.is_some());
    let body = match forwarded {
        Some(body) => body,
        None => {
            refuse(server, call)?;
            encode(call, server.dialect, mode).map_err(unwritable)?
        }
    };
    let request = Post {
        url: Url::clone(&server.chat),
        body: Bytes::from(body),
        mode,
        timeouts: call.timeouts,
        request_id: &call.request_id,
        traceparent: call.traceparent.as_deref(),
    };
    Ok((post(&server.origin, reporter, request).await?, reading))
}

/// Rejects fields that are not of this API, unless the settings forward them.
fn refuse(server: &Server, call: &Call) -> Result<(), Fault> {
    let forwarded = |name: &str| server.forward.iter().any(|member| member == name);
    match call.request.sampling.top_k {
        Some(_) if !forwarded("top_k") => {
            let why = "this provider's API has no top_k: leave it out; the operator can allow it with `forward`";
            Err(Fault::unsupported("top_k", why))
        }
        _ => Ok(()),
    }
}

/// Fault for a request that cannot be encoded as JSON.
pub(super) fn unwritable(error: serde_json::Error) -> Fault {
    Fault {
        client: Some(ClientFault::InvalidRequest),
        ..Fault::new(FaultClass::Client, Phase::Connect, error.to_string())
    }
}
