//! Tests of the chain with scripted providers and paused time.

mod answers;
mod balancing;
mod breakers;
mod circuits;
mod counting;
mod embeds;
mod failover;
mod faults;
mod hedging;
mod hedging_at_random;
mod images;
mod lists;
mod scripted_provider;
mod streams;
mod unsupported;
mod waiting;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_rt::Arbiter;
use futures::StreamExt;
use muster_providers::{
    Catalogue, ChatEvent, ChatRequest, Fault, FaultClass, FaultScope, Message, Phase, ProviderKind, ProviderSettings,
    Registry, Role, Timeouts, Usage,
};

use self::scripted_provider::{CallScript, Ending, ScriptedProvider, WordCounter};
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

/// No randomness: back-offs take half their maximum, cool-downs exactly their nominal length.
fn options() -> ChainOptions {
    let timeouts = Timeouts { connect: secs(5), headers: secs(20), first_delta: secs(30), between_deltas: secs(30) };
    ChainOptions {
        jitter: Jitter::from_fn(|| 0.5),
        retries: 0,
        timeouts,
        deadline: secs(60),
        ..ChainOptions::default()
    }
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

/// A chain of these providers in order.
async fn chain_of(
    tree: &Tree,
    settings: &[ProviderSettings],
    providers: &[&ScriptedProvider],
    options: ChainOptions,
) -> Chain {
    chain_counting(tree, settings, providers, options, Arc::new(WordCounter)).await
}

async fn chain_counting(
    tree: &Tree,
    settings: &[ProviderSettings],
    providers: &[&ScriptedProvider],
    options: ChainOptions,
    counter: Arc<dyn TokenCounter>,
) -> Chain {
    let weights = vec![1; settings.len()];
    start_chain(tree, settings, providers, options, counter, &weights).await
}

async fn chain_weighing(
    tree: &Tree,
    settings: &[ProviderSettings],
    providers: &[&ScriptedProvider],
    options: ChainOptions,
    weights: &[u32],
) -> Chain {
    start_chain(tree, settings, providers, options, Arc::new(WordCounter), weights).await
}

async fn start_chain(
    tree: &Tree,
    settings: &[ProviderSettings],
    providers: &[&ScriptedProvider],
    options: ChainOptions,
    counter: Arc<dyn TokenCounter>,
    weights: &[u32],
) -> Chain {
    let catalogue = Arc::new(Catalogue::embedded().unwrap());
    let order = settings.iter().map(|provider| provider.id.clone()).collect();
    let registry = Arc::new(Registry::new(catalogue, settings, Some(order)).unwrap());
    let provider = |((settings, provider), weight): ((&ProviderSettings, &&ScriptedProvider), &u32)| Provider {
        id: settings.id.clone(),
        kind: ProviderKind::parse(&settings.kind).unwrap(),
        models: settings.models.clone(),
        adapter: Arc::new((*provider).clone()),
        timeouts: ProviderTimeouts::default(),
        weight: *weight,
    };
    let providers = settings.iter().zip(providers).zip(weights).map(provider).collect();
    let (group, arbiters) = (tree.group("chain"), [Arbiter::current()]);
    let clock = Clock::tokio(test_world::START);
    let chain = Chain::start(&group, &arbiters, registry, providers, counter, options, &clock, None);
    until_running(tree).await;
    chain
}

/// A chain `one`, `two`, `three` with one member per provider; each has the model `m`.
async fn chain(tree: &Tree, providers: &[&ScriptedProvider], options: ChainOptions) -> Chain {
    let settings: Vec<_> = NAMES.iter().take(providers.len()).map(|id| settings(id, &["m"])).collect();
    chain_of(tree, &settings, providers, options).await
}

async fn until_running(tree: &Tree) {
    test_world::until(|| tree.snapshot().iter().all(|actor| actor.state == ActorState::Running)).await;
}

/// A prompt of three words.
fn chat_request() -> GatewayChatRequest {
    let message = Message::text(Role::User, "say some words".to_owned());
    GatewayChatRequest {
        models: vec!["m".to_owned()],
        request: Arc::new(ChatRequest { messages: vec![message], ..ChatRequest::default() }),
        request_id: "req_1".to_owned(),
        ..GatewayChatRequest::default()
    }
}

fn fault(class: FaultClass) -> Fault {
    Fault { status: Some(500), ..Fault::new(class, Phase::Headers, "it broke") }
}

fn transient() -> CallScript {
    CallScript::Fail(fault(FaultClass::Transient))
}

/// Delays a step.
fn delayed(wait: Duration, step: CallScript) -> CallScript {
    CallScript::Delayed(wait, Box::new(step))
}

fn throttled(seconds: u64) -> CallScript {
    CallScript::Fail(fault(FaultClass::Throttled).with_retry_after(secs(seconds)))
}

fn estimated_usage(completion_tokens: u32) -> Usage {
    Usage { prompt_tokens: 3, completion_tokens, estimated: true }
}

/// Reads the stream: the number of words, and the error or usage at the end.
async fn read_to_end(streaming: &mut AnswerStream) -> (usize, Option<Result<Usage, Error>>) {
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

fn outcomes(attempts: &[Attempt]) -> Vec<(&str, AttemptOutcome)> {
    attempts.iter().map(|attempt| (attempt.provider.as_str(), attempt.outcome)).collect()
}

fn breaker(chain: &Chain, id: &str) -> BreakerStatus {
    chain.status().into_iter().find(|provider| provider.id == id).unwrap().breaker
}

/// Waits until this many calls are counted, since reports are asynchronous.
async fn until_counted(chain: &Chain, id: &str, calls: u32) {
    test_world::until(|| breaker(chain, id).calls == calls).await;
}

/// Returns the failures attributed to `id`. A successful call is made first, so that all earlier reports have been
/// applied.
async fn failures_of(chain: &Chain, id: &str, provider: &ScriptedProvider) -> u32 {
    provider.set_default(CallScript::Answer(1));
    assert_eq!(chain.complete(chat_request()).await.unwrap().provider_id, id);
    let BreakerStatus { calls, failure_share, .. } = breaker(chain, id);
    (f64::from(calls) * failure_share).round() as u32
}

async fn until_open(chain: &Chain, id: &str) {
    test_world::until(|| breaker(chain, id).state == BreakerState::Open).await;
}

/// Collects settlements.
#[derive(Debug, Clone, Default)]
struct SettlementLog(Arc<Mutex<Vec<Settlement>>>);

impl SettlementLog {
    fn entry(&self) -> impl FnOnce(Settlement) + Send + 'static {
        let ledger = Arc::clone(&self.0);
        move |settlement| ledger.lock().unwrap().push(settlement)
    }

    /// Returns the only settlement.
    fn only(&self) -> Settlement {
        let all = self.0.lock().unwrap();
        assert_eq!(all.len(), 1, "{all:?}");
        all[0].clone()
    }
}
