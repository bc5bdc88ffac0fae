//! The engine of a build without the feature `embed`: it is absent, and says so.

use tokio::sync::watch;

use super::{EmbedError, EmbedFuture, EmbedOptions, EmbedStats};
use crate::chat::Status;

const MEND: &str = "this build has no embedding engine: build with the feature `embed`";

#[derive(Debug)]
pub(super) struct Engine {
    status: watch::Sender<Status>,
}

impl Engine {
    pub(super) fn start(_options: EmbedOptions) -> Self {
        Self { status: watch::Sender::new(Status::Absent { mend: MEND.to_owned() }) }
    }

    pub(super) fn reload(&self) {}

    pub(super) fn inject_panic(&self) {}

    pub(super) fn status(&self) -> Status {
        self.status.borrow().clone()
    }

    pub(super) fn watch_status(&self) -> watch::Receiver<Status> {
        self.status.subscribe()
    }

    pub(super) fn stats(&self) -> EmbedStats {
        EmbedStats::default()
    }

    pub(super) fn embed(&self, _texts: Vec<String>) -> EmbedFuture {
        Box::pin(std::future::ready(Err(EmbedError::Absent { mend: MEND.to_owned() })))
    }
}
