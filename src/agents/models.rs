//! The models that agents plan and write with: the provider chain under the present settings.

use futures::future::BoxFuture;
use muster_gateway::{Chain, ChainError, GatewayChatRequest};
use muster_identity::keys::Keys;
use muster_tasks::agent::{ChainModels, ModelStream, Models, SettleCallback};

use crate::chat::payer;
use crate::live::LiveReader;

type Now = Box<dyn Fn() -> Chain + Send + Sync>;

/// Uses the settings of the last reload.
#[derive(Debug)]
pub(super) struct LiveModels {
    chain: ChainModels<Now>,
    live: LiveReader,
    keys: Keys,
}

impl LiveModels {
    pub(super) fn new(live: LiveReader, keys: Keys) -> Self {
        let watched = live.clone();
        Self { chain: ChainModels::new(Box::new(move || watched.now().chain.clone())), live, keys }
    }
}

impl Models for LiveModels {
    fn planner(&self) -> Option<String> {
        match self.live.now().config.agents.planner_model.as_str() {
            "" => self.chain.planner(),
            "none" => None,
            named => Some(named.to_owned()),
        }
    }

    fn filler(&self) -> Option<String> {
        Some(self.live.now().config.agents.fill_model.clone()).filter(|name| !name.is_empty())
    }

    fn stream(
        &self,
        mut request: GatewayChatRequest,
        settle: SettleCallback,
    ) -> BoxFuture<'static, Result<ModelStream, ChainError>> {
        if let Some(spend) = &mut request.spend {
            payer::refresh(&self.keys, &self.live.now().config.budget, spend);
        }
        self.chain.stream(request, settle)
    }
}
