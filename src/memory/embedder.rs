//! The local embedding model as an implementation of the trait of semantic memory.

use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use muster_memory::{EmbedFault, Embedder, ModelTag, Readiness, Vectors};
use muster_models::{EmbedError, EmbedModel, LocalEmbedder, ModelStatus};

/// Number of characters of the weights' digest in the model's tag.
const DIGEST: usize = 16;

/// The local model behind the trait.
#[derive(Debug)]
pub struct LocalSentenceModel {
    model: Arc<LocalEmbedder>,
    tag: ModelTag,
}

impl LocalSentenceModel {
    pub fn new(model: Arc<LocalEmbedder>) -> Self {
        let info = model.info();
        let digest: String = info.sha256.chars().take(DIGEST).collect();
        let id = Arc::from(format!("{}@{digest}", info.id));
        let tag = ModelTag { id, dimensions: usize::try_from(info.dimensions).unwrap_or(0) };
        Self { model, tag }
    }
}

impl Embedder for LocalSentenceModel {
    fn model(&self) -> ModelTag {
        self.tag.clone()
    }

    fn ready(&self) -> Readiness {
        let why = match self.model.status() {
            ModelStatus::Ready => return Readiness::Ready,
            ModelStatus::Loading { percent } => format!("the embedding model is loading ({percent} %)"),
            ModelStatus::Absent { mend } => format!("the embedding model is not installed: {mend}"),
            ModelStatus::Failed { why, mend } => format!("the embedding model failed: {why}: {mend}"),
        };
        Readiness::NotReady { why }
    }

    fn changed(&self) -> BoxFuture<'static, ()> {
        let mut status = self.model.watch_status();
        // A model that has failed for good sends no further states.
        async move {
            if status.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
        .boxed()
    }

    fn embed(&self, texts: Vec<String>) -> Vectors {
        self.model.embed(texts).map(|made| made.map(|made| made.vectors).map_err(fault)).boxed()
    }
}

fn fault(error: EmbedError) -> EmbedFault {
    match error {
        EmbedError::Busy { retry_after } => EmbedFault::Busy { retry_after },
        EmbedError::TooLong { index, .. } => EmbedFault::TooLong { index },
        EmbedError::TooMany { .. } => EmbedFault::Busy { retry_after: Duration::ZERO },
        absent @ (EmbedError::Absent { .. } | EmbedError::Loading { .. }) => {
            EmbedFault::NotReady { why: absent.to_string() }
        }
        failed @ EmbedError::Failed { .. } => EmbedFault::Failed { why: failed.to_string() },
    }
}
