//! Substitute engine of a build without the feature `embed`: always absent.

use tokio::sync::watch;

use super::{EmbedError, EmbedFuture, EmbedOptions, EmbedStats};
use crate::chat::ModelStatus;

const MEND: &str = "this build has no embedding engine: build with the feature `embed`";

#[derive(Debug)]
pub(super) struct Engine {
    status: watch::Sender<ModelStatus>,
}

impl Engine {
    pub(super) fn start(_options: EmbedOptions) -> Self {
        Self { status: watch::Sender::new(ModelStatus::Absent { mend: MEND.to_owned() }) }
    }

    pub(super) fn reload(&self) {}

    pub(super) fn inject_panic(&self) {}

    pub(super) fn status(&self) -> ModelStatus {
        self.status.borrow().clone()
    }

    pub(super) fn watch_status(&self) -> watch::Receiver<ModelStatus> {
        self.status.subscribe()
    }

    pub(super) fn stats(&self) -> EmbedStats {
        EmbedStats::default()
    }

    pub(super) fn embed(&self, _texts: Vec<String>) -> EmbedFuture {
        Box::pin(std::future::ready(Err(EmbedError::Absent { mend: MEND.to_owned() })))
    }
}
