//! The chain in a world of its own: scripted providers, paused time.

mod answers;
mod breakers;
mod counting;
mod double;
mod embeds;
mod failover;
mod faults;
mod hedging;
mod hedging_at_random;
mod lists;
mod streams;
mod unsupported;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_rt::Arbiter;
use futures::StreamExt;
use muster_providers::{
    Catalogue, ChatEvent, ChatRequest, Fault, FaultClass, Message, Phase, ProviderKind, ProviderSettings, Registry,
    Role, Usage,
};

use self::double::{Act, Double, Ending, Words};
use super::*;
use muster_core::supervise::{ActorState, Tree};
use muster_core::{Clock, Error, Kind, test_world};

const NAMES: [&str; 3] = ["one", "two", "three"];

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// No chance: back-offs take half their longest, cool-downs just what is written.
fn options() -> ChainOptions {
    ChainOptions { jitter: Jitter::from_fn(|| 0.5), retries: 0, ..ChainOptions::default() }
}

fn settings(id: &str, models: &[&str]) -> ProviderSettings {
    ProviderSettings {
        id: id.to_owned(),
        kind: "openai".to_owned(),
        base_url: Some("http://127.0.0.1:9/v1".to_owned()),
        models: models.iter().map(|&model| model.to_owned()).collect(),
        has_key: true,
        price: None,
        ..ProviderSettings::default()
    }
}

/// A chain of these providers in their order.
async fn chain_of(tree: &Tree, settings: &[ProviderSettings], doubles: &[&Double], options: ChainOptions) -> Chain {
    chain_counting(tree, settings, doubles, options, Arc::new(Words)).await
}

async fn chain_counting(
    tree: &Tree,
    settings: &[ProviderSettings],
    doubles: &[&Double],
    options: ChainOptions,
    counter: Arc<dyn TokenCounter>,
) -> Chain {
    let catalogue = Arc::new(Catalogue::embedded().unwrap());
    let order = settings.iter().map(|provider| provider.id.clone()).collect();
    let registry = Arc::new(Registry::new(catalogue, settings, Some(order)).unwrap());
    let provider = |(settings, double): (&ProviderSettings, &&Double)| Provider {
        id: settings.id.clone(),
        kind: ProviderKind::parse(&settings.kind).unwrap(),
        models: settings.models.clone(),
        adapter: Arc::new((*double).clone()),
    };
    let providers = settings.iter().zip(doubles).map(provider).collect();
    let (group, arbiters) = (tree.group("chain"), [Arbiter::current()]);
    let clock = Clock::tokio(test_world::START);
    let chain = Chain::start(&group, &arbiters, registry, providers, counter, options, &clock, None);
    running(tree).await;
    chain
}

/// A chain `one`, `two`, `three` of as many as there are doubles; each has the model `m`.
async fn chain(tree: &Tree, doubles: &[&Double], options: ChainOptions) -> Chain {
    let settings: Vec<_> = NAMES.iter().take(doubles.len()).map(|id| settings(id, &["m"])).collect();
    chain_of(tree, &settings, doubles, options).await
}

async fn running(tree: &Tree) {
    test_world::until(|| tree.snapshot().iter().all(|actor| actor.state == ActorState::Running)).await;
}

/// A prompt of three words.
fn ask() -> ChatAsk {
    let message = Message::text(Role::User, "say some words".to_owned());
    ChatAsk {
        models: vec!["m".to_owned()],
        request: Arc::new(ChatRequest { messages: vec![message], ..ChatRequest::default() }),
        request_id: "req_1".to_owned(),
        traceparent: None,
        deadline: None,
        retries: None,
        hedge_after: None,
        spend: None,
    }
}

fn fault(class: FaultClass) -> Fault {
    Fault { status: Some(500), ..Fault::new(class, Phase::Headers, "it broke") }
}

fn transient() -> Act {
    Act::Fail(fault(FaultClass::Transient))
}

/// Comes after so long.
fn late(wait: Duration, act: Act) -> Act {
    Act::Late(wait, Box::new(act))
}

fn throttled(seconds: u64) -> Act {
    Act::Fail(fault(FaultClass::Throttled).with_retry_after(secs(seconds)))
}

fn estimated(completion_tokens: u32) -> Usage {
    Usage { prompt_tokens: 3, completion_tokens, estimated: true }
}

/// The words that came, and the error or usage at the end.
async fn read(streaming: &mut Streaming) -> (usize, Option<Result<Usage, Error>>) {
    let mut words = 0;
    while let Some(event) = streaming.next().await {
        match event {
            Ok(ChatEvent::Delta(_)) => words += 1,
            Ok(ChatEvent::Done { usage, .. }) => {
                assert!(streaming.next().await.is_none(), "nothing comes after the end");
                return (words, Some(Ok(usage.unwrap())));
            }
            Err(error) => {
                assert!(streaming.next().await.is_none(), "nothing comes after an error");
                return (words, Some(Err(error)));
            }
        }
    }
    (words, None)
}

fn tried(attempts: &[Attempt]) -> Vec<(&str, AttemptOutcome)> {
    attempts.iter().map(|attempt| (attempt.provider.as_str(), attempt.outcome)).collect()
}

fn breaker(chain: &Chain, id: &str) -> BreakerStatus {
    chain.status().into_iter().find(|provider| provider.id == id).unwrap().breaker
}

/// Reports are told, not asked: waits until as many calls are counted.
async fn counted(chain: &Chain, id: &str, calls: u32) {
    test_world::until(|| breaker(chain, id).calls == calls).await;
}

/// The failures that `id` is blamed for, once all that was told before is heard: a good call comes after it in the line.
async fn blamed(chain: &Chain, id: &str, double: &Double) -> u32 {
    double.now_always(Act::Answer(1));
    assert_eq!(chain.complete(ask()).await.unwrap().provider_id, id);
    let BreakerStatus { calls, failure_share, .. } = breaker(chain, id);
    (f64::from(calls) * failure_share).round() as u32
}

async fn opened(chain: &Chain, id: &str) {
    test_world::until(|| breaker(chain, id).state == BreakerState::Open).await;
}

/// Where settlements are told.
#[derive(Debug, Clone, Default)]
struct Ledger(Arc<Mutex<Vec<Settlement>>>);

impl Ledger {
    fn entry(&self) -> impl FnOnce(Settlement) + Send + 'static {
        let ledger = Arc::clone(&self.0);
        move |settlement| ledger.lock().unwrap().push(settlement)
    }

    /// The only one.
    fn only(&self) -> Settlement {
        let all = self.0.lock().unwrap();
        assert_eq!(all.len(), 1, "{all:?}");
        all[0].clone()
    }
}
