//! Embedding requests to the in-process model.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use muster_models::{EmbedError, EmbedModel, Embeddings};
use tokio::time::timeout;

use crate::embedded::{ABSENT_RETRY, LOADING_RETRY};
use crate::{
    ClientFault, EmbedCall, EmbedInput, EmbedReply, EmbedRequest, Fault, FaultClass, Phase, QUEUE_TIMEOUT, Usage,
};

/// Computes vectors. The request is admitted at the call; dropping the future cancels it.
pub(crate) fn embed(model: &Arc<dyn EmbedModel>, call: EmbedCall) -> BoxFuture<'static, Result<EmbedReply, Fault>> {
    let running = texts(&call.request, model.info().dimensions).map(|texts| model.embed(texts));
    async move {
        let wait = QUEUE_TIMEOUT + call.timeouts.first_delta;
        match timeout(wait, running?).await {
            Ok(Ok(embeddings)) => Ok(reply(embeddings, call.upstream_model)),
            Ok(Err(error)) => Err(fault(error)),
            Err(_) => Err(slow(wait)),
        }
    }
    .boxed()
}

fn reply(embeddings: Embeddings, model: String) -> EmbedReply {
    let usage = Usage { prompt_tokens: embeddings.total_tokens(), completion_tokens: 0, estimated: false };
    EmbedReply { vectors: embeddings.vectors, usage: Some(usage), model }
}

/// Checks what the model supports. Its vectors cannot be shortened: it was not trained for that.
fn texts(request: &EmbedRequest, dimensions: u32) -> Result<Vec<String>, Fault> {
    if let Some(requested) = request.dimensions.filter(|requested| *requested != dimensions) {
        let message = format!(
            "the embedded model's vectors have {dimensions} dimensions, not {requested}: leave `dimensions` out, or choose \
             a model whose vectors can be cut"
        );
        return Err(Fault::unsupported("dimensions", message));
    }
    let text = |input: &EmbedInput| match input {
        EmbedInput::Text(text) => Ok(text.clone()),
        EmbedInput::Tokens(_) => {
            let message = "the embedded model takes text, not the numbers of another model's tokens: send strings";
            Err(Fault::unsupported("input", message))
        }
    };
    request.inputs.iter().map(text).collect()
}

fn slow(wait: Duration) -> Fault {
    Fault::transient(Phase::Body, format!("the embedded model gave no vectors within {wait:?}: send fewer texts"))
}

fn fault(error: EmbedError) -> Fault {
    let message = error.to_string();
    let transient = |wait: Option<Duration>| Fault::transient(Phase::Connect, message.clone()).with_retry_after(wait);
    let client = |kind| Fault {
        client: Some(kind),
        param: Some("input".to_owned()),
        ..Fault::new(FaultClass::Client, Phase::Connect, message.clone())
    };
    match error {
        EmbedError::Absent { .. } => transient(Some(ABSENT_RETRY)),
        EmbedError::Loading { .. } => transient(Some(LOADING_RETRY)),
        EmbedError::Busy { retry_after } => transient(Some(retry_after)),
        EmbedError::Failed { .. } => transient(None),
        EmbedError::TooLong { .. } => client(ClientFault::ContextLengthExceeded),
        EmbedError::TooMany { .. } => client(ClientFault::InvalidRequest),
    }
}
