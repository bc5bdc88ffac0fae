//! A server before a provider that breaks, and perhaps a healthy one behind it.

use std::time::Instant;

use serde_json::Value;

use super::support::client::{Client, PATIENCE};
use super::support::server::Muster;
use super::support::upstream::{Act, Upstream, nobody};
use super::support::wire::Wire;

/// What the first provider does.
#[derive(Debug, Clone)]
pub enum First {
    Does(Act),
    RefusesConnections,
}

/// Whether a healthy provider stands behind the first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Behind {
    Nobody,
    Healthy,
}

/// What the healthy one says.
pub const HEALTHY: &[&str] = &["hello ", "there"];

/// A server whose chain is the first provider, `one` with the model `alpha`, and perhaps a second, `two` with `beta`.
pub struct House {
    first: Option<Upstream>,
    pub second: Upstream,
    pub muster: Muster,
}

impl House {
    /// The second provider speaks another wire than the first.
    pub fn start(wire: Wire, first: First, behind: Behind, chain: &str) -> Self {
        let other = if wire == Wire::OpenAi { Wire::Anthropic } else { Wire::OpenAi };
        let second = Upstream::speaking(other, Act::Answer(HEALTHY));
        let (first, provider) = match first {
            First::RefusesConnections => (None, wire.provider(nobody(), "one", "alpha")),
            First::Does(act) => {
                let upstream = Upstream::speaking(wire, act);
                let provider = upstream.provider("one", "alpha");
                (Some(upstream), provider)
            }
        };
        let settings = match behind {
            Behind::Nobody => format!("{provider}[chain]\norder = [\"one\"]\n"),
            Behind::Healthy => {
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

    /// What the status says of a provider, once it has learned of its first call: it is told beside the answer.
    pub async fn learned(&self, provider: &str) -> Value {
        let (client, asked) = (self.client(), Instant::now());
        loop {
            let status = client.get("/api/v1/status").await.json();
            let of = |one: &&Value| one["id"] == provider;
            let breaker = status["providers"].as_array().unwrap().iter().find(of).unwrap()["breaker"].clone();
            if breaker["calls"] != 0 {
                return breaker;
            }
            assert!(asked.elapsed() < PATIENCE, "the breaker of {provider} learned nothing: {breaker}");
        }
    }

    /// What the ledger says of the one call that was made, once it is entered: it is told beside the answer.
    pub async fn entered(&self) -> Value {
        let (client, asked) = (self.client(), Instant::now());
        loop {
            let report = client.get("/api/v1/usage").await.json();
            if report["total"]["requests"] != 0 {
                return report;
            }
            assert!(asked.elapsed() < PATIENCE, "nothing is entered: {report}");
        }
    }
}
