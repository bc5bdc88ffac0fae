//! Substitute engine of a build without the feature `llm`: always absent.

use tokio::sync::watch;

use crate::chat::{ChatTurn, GenerateRequest, Generation, ModelError, ModelInfo, ModelStats, ModelStatus};
use crate::local::ModelOptions;
use crate::tool::Tool;

const MEND: &str = "this build has no embedded model engine: build with the feature `llm`";

#[derive(Debug)]
pub(crate) struct Engine {
    status: watch::Sender<ModelStatus>,
}

impl Engine {
    pub(crate) fn start(_options: ModelOptions) -> Self {
        Self { status: watch::Sender::new(ModelStatus::Absent { mend: MEND.to_owned() }) }
    }

    pub(crate) fn reload(&self) {}

    pub(crate) fn inject_panic(&self) {}

    pub(crate) fn info(&self) -> ModelInfo {
        ModelInfo { id: "none".to_owned(), name: "none".to_owned(), context: 0, max_tokens: 0 }
    }

    pub(crate) fn status(&self) -> ModelStatus {
        self.status.borrow().clone()
    }

    pub(crate) fn watch_status(&self) -> watch::Receiver<ModelStatus> {
        self.status.subscribe()
    }

    pub(crate) fn stats(&self) -> ModelStats {
        ModelStats::default()
    }

    pub(crate) fn count(&self, _turns: &[ChatTurn], _tools: &[Tool]) -> Option<u32> {
        None
    }

    pub(crate) fn count_text(&self, _text: &str) -> Option<u32> {
        None
    }

    pub(crate) fn generate(&self, _request: GenerateRequest) -> Result<Generation, ModelError> {
        Err(ModelError::Absent { mend: MEND.to_owned() })
    }
}
