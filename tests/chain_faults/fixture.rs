//! A server whose first provider is faulty, optionally followed by a healthy one.

use std::time::Instant;

use serde_json::Value;

use super::support::client::{Client, TEST_TIMEOUT};
use super::support::server::Muster;
use super::support::upstream::{Upstream, UpstreamAction, unused_address};
use super::support::wire::Wire;

/// Behaviour of the first provider.
#[derive(Debug, Clone)]
pub enum FirstProvider {
    Acts(UpstreamAction),
    Unreachable,
}

/// Whether a healthy provider follows the first one in the chain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fallback {
    None,
    Healthy,
}

/// Words of the healthy provider's answer.
pub const HEALTHY: &[&str] = &["hello ", "there"];

/// A server whose chain is the first provider, `one` with the model `alpha`, and optionally a second, `two` with
/// `beta`.
pub struct ChainFixture {
    first: Option<Upstream>,
    pub second: Upstream,
    pub muster: Muster,
}

impl ChainFixture {
    /// Starts the server. The second provider uses another wire than the first.
    pub fn start(wire: Wire, first: FirstProvider, fallback: Fallback, chain: &str) -> Self {
        let other = if wire == Wire::OpenAi { Wire::Anthropic } else { Wire::OpenAi };
        let second = Upstream::with_wire(other, UpstreamAction::Answer(HEALTHY));
        let (first, provider) = match first {
            FirstProvider::Unreachable => (None, wire.provider(unused_address(), "one", "alpha")),
            FirstProvider::Acts(action) => {
                let upstream = Upstream::with_wire(wire, action);
                let provider = upstream.provider("one", "alpha");
                (Some(upstream), provider)
            }
        };
        let settings = match fallback {
            Fallback::None => format!("{provider}[chain]\norder = [\"one\"]\n"),
            Fallback::Healthy => {
                format!("{provider}{}[chain]\norder = [\"one\", \"two\"]\n", second.provider("two", "beta"))
            }
        };
        Self { first, second, muster: Muster::start(&format!("{settings}{chain}")) }
    }

    pub fn client(&self) -> Client {
        self.muster.client()
    }

    pub fn first(&self) -> &Upstream {
        self.first.as_ref().unwrap()
    }

    /// Returns a provider's breaker from the status once it has recorded a call: it is updated after the answer.
    pub async fn breaker_after_call(&self, provider: &str) -> Value {
        let (client, started) = (self.client(), Instant::now());
        loop {
            let status = client.get("/api/v1/status").await.json();
            let of = |one: &&Value| one["id"] == provider;
            let breaker = status["providers"].as_array().unwrap().iter().find(of).unwrap()["breaker"].clone();
            if breaker["calls"] != 0 {
                return breaker;
            }
            assert!(started.elapsed() < TEST_TIMEOUT, "the breaker of {provider} recorded nothing: {breaker}");
        }
    }

    /// Returns the usage report once the one call is in the ledger: it is updated after the answer.
    pub async fn usage_after_call(&self) -> Value {
        let (client, started) = (self.client(), Instant::now());
        loop {
            let report = client.get("/api/v1/usage").await.json();
            if report["total"]["requests"] != 0 {
                return report;
            }
            assert!(started.elapsed() < TEST_TIMEOUT, "the ledger has no line: {report}");
        }
    }
}
