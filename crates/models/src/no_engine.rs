//! The engine of a build without the feature `llm`: it is absent, and says so.

use tokio::sync::watch;

use crate::chat::{GenerateRequest, Generation, ModelError, ModelInfo, ModelStats, Status, Turn};
use crate::local::Options;
use crate::tool::Tool;

const MEND: &str = "this build has no embedded model engine: build with the feature `llm`";

#[derive(Debug)]
pub(crate) struct Engine {
    status: watch::Sender<Status>,
}

impl Engine {
    pub(crate) fn start(_options: Options) -> Self {
        Self { status: watch::Sender::new(Status::Absent { mend: MEND.to_owned() }) }
    }

    pub(crate) fn reload(&self) {}

    pub(crate) fn inject_panic(&self) {}

    pub(crate) fn info(&self) -> ModelInfo {
        ModelInfo { id: "none".to_owned(), name: "none".to_owned(), context: 0, max_tokens: 0 }
    }

    pub(crate) fn status(&self) -> Status {
        self.status.borrow().clone()
    }

    pub(crate) fn watch_status(&self) -> watch::Receiver<Status> {
        self.status.subscribe()
    }

    pub(crate) fn stats(&self) -> ModelStats {
        ModelStats::default()
    }

    pub(crate) fn count(&self, _turns: &[Turn], _tools: &[Tool]) -> Option<u32> {
        None
    }

    pub(crate) fn count_text(&self, _text: &str) -> Option<u32> {
        None
    }

    pub(crate) fn generate(&self, _request: GenerateRequest) -> Result<Generation, ModelError> {
        Err(ModelError::Absent { mend: MEND.to_owned() })
    }
}
