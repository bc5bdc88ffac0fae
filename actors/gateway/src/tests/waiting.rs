//! Providers that take long: how long each phase may take, what is called again, and what is charged for calls that
//! nobody waits for any more. Time is paused.

use muster_limits::ledger::{Budget, Ledger, LedgerOptions, Query};
use muster_providers::{Price, TimeoutOverrides};
use muster_store::{MemStore, StoreHandle};
use tokio::time::Instant;

use super::*;
use muster_limits::ledger::Day;

fn default_options() -> ChainOptions {
    ChainOptions { jitter: Jitter::from_fn(|| 0.5), ..ChainOptions::default() }
}

/// A fault of a request that was sent.
fn late() -> CallScript {
    CallScript::Fail(Fault::transient(Phase::Headers, "sent no headers in time"))
}

/// A fault before the request was sent.
fn refused_connection() -> CallScript {
    CallScript::Fail(Fault::transient(Phase::Connect, "cannot be reached"))
}

#[test]
fn an_answer_of_nine_minutes_is_waited_for_and_requested_once() {
    test_world::run(|tree| async move {
        let slow = ScriptedProvider::answering(delayed(secs(9 * 60), CallScript::Answer(2)));
        let chain = chain(&tree, &[&slow], default_options()).await;
        assert_eq!(chain.complete(chat_request()).await.unwrap().usage.completion_tokens, 2);
        let mut streaming = chain.stream(chat_request(), |_| ()).await.unwrap();
        assert_eq!(read_to_end(&mut streaming).await.0, 2);
        assert_eq!(slow.calls(), 2, "one for each request");
        let timeouts = slow.last_call().timeouts;
        assert_eq!((timeouts.connect, timeouts.headers), (secs(5), secs(600)));
        assert_eq!((timeouts.first_delta, timeouts.between_deltas), (secs(600), secs(120)));
    });
}

#[test]
fn a_call_that_may_have_run_is_not_made_again_at_the_same_provider() {
    for (step, calls) in [(late(), 1), (transient(), 3), (refused_connection(), 3)] {
        test_world::run(|tree| async move {
            let one = ScriptedProvider::answering(step);
            let chain = chain(&tree, &[&one], ChainOptions { retries: 2, ..default_options() }).await;
            assert_eq!(chain.complete(chat_request()).await.unwrap_err().error.kind, Kind::ProviderFailed);
            assert_eq!(one.calls(), calls);
        });
    }
}

#[test]
fn another_provider_follows_a_call_that_may_have_run_unless_the_settings_forbid_it() {
    for (failover_after_start, calls) in [(true, 1), (false, 0)] {
        test_world::run(|tree| async move {
            let (one, two) = (ScriptedProvider::answering(late()), ScriptedProvider::answering(CallScript::Answer(1)));
            let options = ChainOptions { failover_after_start, ..default_options() };
            let chain = chain(&tree, &[&one, &two], options).await;
            assert_eq!(chain.complete(chat_request()).await.is_ok(), failover_after_start);
            assert_eq!((one.calls(), two.calls()), (1, calls));
            // One that did not run is always followed.
            one.set_default(refused_connection());
            assert!(chain.complete(chat_request()).await.is_ok());
        });
    }
}

#[test]
fn providers_and_models_have_limits_of_their_own() {
    test_world::run(|tree| async move {
        let one = ScriptedProvider::answering(CallScript::Answer(1));
        let overrides = |headers: Option<u64>, gap: Option<u64>| TimeoutOverrides {
            headers: headers.map(secs),
            between_deltas: gap.map(secs),
            ..TimeoutOverrides::default()
        };
        let timeouts = ProviderTimeouts {
            all: overrides(Some(100), Some(7)),
            models: [("slow".to_owned(), overrides(Some(500), None))].into(),
        };
        let catalogue = Arc::new(Catalogue::embedded().unwrap());
        let registry = Registry::new(catalogue, &[settings("one", &["m", "slow"])], None).unwrap();
        let provider = Provider {
            id: "one".to_owned(),
            kind: ProviderKind::OpenAi,
            models: vec!["m".to_owned(), "slow".to_owned()],
            adapter: Arc::new(one.clone()),
            timeouts,
            weight: 1,
        };
        let (group, clock) = (tree.group("chain"), Clock::tokio(test_world::START));
        let arbiters = [Arbiter::current()];
        let (registry, counter) = (Arc::new(registry), Arc::new(WordCounter));
        let chain = Chain::start(&group, &arbiters, registry, vec![provider], counter, default_options(), &clock, None);
        until_running(&tree).await;
        for (model, headers) in [("m", secs(100)), ("slow", secs(500))] {
            let request = GatewayChatRequest { models: vec![model.to_owned()], ..chat_request() };
            chain.complete(request).await.unwrap();
            let used = one.last_call().timeouts;
            assert_eq!((used.headers, used.between_deltas, used.connect), (headers, secs(7), secs(5)), "{model}");
        }
        one.set_default(CallScript::Break(1, Ending::Hang));
        let mut streaming = chain.stream(chat_request(), |_| ()).await.unwrap();
        let begun = Instant::now();
        assert!(read_to_end(&mut streaming).await.1.unwrap().is_err());
        assert!((secs(7)..secs(8)).contains(&begun.elapsed()));
    });
}

/// One dollar for a million tokens of either kind.
const PRICE: Price = Price { input_per_million: 1.0, output_per_million: 1.0 };
/// Reserved tokens: 1,000 of the prompt and 50 of the answer.
const RESERVED: Usage = Usage { prompt_tokens: 1_000, completion_tokens: 50, estimated: true };

/// A chain of priced providers with a ledger.
async fn paid_chain(tree: &Tree, providers: &[&ScriptedProvider]) -> (Chain, Ledger, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let store: StoreHandle = Arc::new(MemStore::default());
    let clock = Clock::tokio(test_world::START);
    let options = LedgerOptions::default();
    let ledger =
        Ledger::start(&tree.group("ledger"), Arbiter::current(), &store, folder.path(), &clock, options).unwrap();
    let settings: Vec<_> = NAMES
        .iter()
        .take(providers.len())
        .map(|id| ProviderSettings { price: Some(PRICE), ..settings(id, &["m"]) })
        .collect();
    let order = settings.iter().map(|provider| provider.id.clone()).collect();
    let catalogue = Arc::new(Catalogue::embedded().unwrap());
    let registry = Arc::new(Registry::new(catalogue, &settings, Some(order)).unwrap());
    let provider = |(settings, provider): (&ProviderSettings, &&ScriptedProvider)| Provider {
        id: settings.id.clone(),
        kind: ProviderKind::OpenAi,
        models: settings.models.clone(),
        adapter: Arc::new((*provider).clone()),
        timeouts: ProviderTimeouts::default(),
        weight: 1,
    };
    let members = settings.iter().zip(providers).map(provider).collect();
    let budgets = BudgetGuard {
        ledger: ledger.clone(),
        clock: clock.clone(),
        model_limits: [].into(),
        unpriced: Unpriced::Refuse,
    };
    let (group, arbiters, counter) = (tree.group("chain"), [Arbiter::current()], Arc::new(WordCounter));
    let chain = Chain::start(&group, &arbiters, registry, members, counter, default_options(), &clock, Some(budgets));
    ledger.up().await;
    until_running(tree).await;
    (chain, ledger, folder)
}

fn paid_request() -> GatewayChatRequest {
    let spend = Spend {
        key_id: "key_1".to_owned(),
        key_limit: Some(1_000_000_000),
        owner: Some(SharedBudget { id: "ann".to_owned(), limit: Some(2_000_000_000) }),
        max_usage: RESERVED,
        ..Spend::default()
    };
    GatewayChatRequest { spend: Some(spend), ..chat_request() }
}

/// Returns what key and owner spent, in tokens of a thousand nanodollars, and what is still reserved.
async fn spent(ledger: &Ledger) -> (u64, u64, u64) {
    let key = ledger.budgets("key_1", None, "m", None).await.unwrap().key;
    let owner = ledger.budget(Budget::Owner, "ann", None).await.unwrap();
    (key.spent_nanos / 1_000, owner.spent_nanos / 1_000, key.held_nanos + owner.held_nanos)
}

#[test]
fn a_call_whose_caller_left_before_the_answer_charges_the_prompt() {
    test_world::run(|tree| async move {
        let hung = ScriptedProvider::answering(CallScript::Hang);
        let (chain, ledger, _folder) = paid_chain(&tree, &[&hung]).await;
        for streamed in [false, true] {
            let before = spent(&ledger).await.0;
            let chain = chain.clone();
            let call = tokio::task::spawn_local(async move {
                match streamed {
                    false => chain.complete(paid_request()).await.map(drop),
                    true => chain.stream(paid_request(), |_| ()).await.map(drop),
                }
            });
            test_world::until(|| hung.in_progress() == 1).await;
            call.abort();
            assert!(call.await.unwrap_err().is_cancelled());
            assert_eq!(spent(&ledger).await, (before + 1_000, before + 1_000, 0), "streamed: {streamed}");
        }
        let day = Day::of(test_world::START);
        let query = Query { from_day: day, to_day: day, ..Query::default() };
        let rows = ledger.usage(query).await.unwrap();
        let row = rows.iter().find(|row| row.model_id == "m").unwrap().row;
        assert_eq!((row.requests, row.cancelled, row.prompt_tokens, row.completion_tokens), (2, 2, 2_000, 0));
    });
}

#[test]
fn a_stream_that_is_left_charges_at_least_the_reserved_prompt_and_what_was_delivered() {
    test_world::run(|tree| async move {
        let one = ScriptedProvider::answering(CallScript::Drip(ms(1)));
        let (chain, ledger, _folder) = paid_chain(&tree, &[&one]).await;
        let settled = SettlementLog::default();
        let mut streaming = chain.stream(paid_request(), settled.entry()).await.unwrap();
        for _ in 0..7 {
            streaming.next().await.unwrap().unwrap();
        }
        drop(streaming);
        assert_eq!(spent(&ledger).await, (1_007, 1_007, 0));
        assert_eq!(settled.only().usage, Usage { prompt_tokens: 1_000, completion_tokens: 7, estimated: true });
    });
}

#[test]
fn the_loser_of_a_hedge_and_a_call_that_was_too_late_are_charged() {
    test_world::run(|tree| async move {
        let figures = Usage { prompt_tokens: 900, completion_tokens: 2, estimated: false };
        let (slow, quick) = (
            ScriptedProvider::answering(CallScript::Hang),
            ScriptedProvider::answering(CallScript::Figures(2, figures)),
        );
        let (chain, ledger, _folder) = paid_chain(&tree, &[&slow, &quick]).await;
        let hedged = GatewayChatRequest { hedge_after: Some(ms(10)), ..paid_request() };
        assert_eq!(chain.complete(hedged).await.unwrap().provider_id, "two");
        assert_eq!(spent(&ledger).await, (1_904, 1_904, 0), "the answer, and as much of the other call");

        let hurried = GatewayChatRequest { deadline: Some(ms(10)), ..paid_request() };
        assert_eq!(chain.complete(hurried).await.unwrap_err().error.kind, Kind::ProviderFailed);
        // A token of the answer in ten milliseconds.
        assert_eq!(spent(&ledger).await, (2_905, 2_905, 0));

        // A call that did not run costs nothing.
        slow.set_default(refused_connection());
        assert_eq!(chain.complete(paid_request()).await.unwrap().provider_id, "two");
        assert_eq!(spent(&ledger).await, (3_807, 3_807, 0));
    });
}

#[test]
fn keys_of_one_owner_share_the_owners_budget() {
    test_world::run(|tree| async move {
        let one = ScriptedProvider::answering(CallScript::Figures(1, RESERVED));
        let (chain, ledger, _folder) = paid_chain(&tree, &[&one]).await;
        let request = |key: usize, owner: &str| {
            let spend = Spend {
                key_id: format!("key_{key}"),
                key_limit: Some(1_000_000_000),
                owner: Some(SharedBudget { id: owner.to_owned(), limit: Some(5_500_000) }),
                max_usage: RESERVED,
                ..Spend::default()
            };
            GatewayChatRequest { spend: Some(spend), ..chat_request() }
        };
        let mut answered = 0;
        for key in 0..20 {
            match chain.complete(request(key, "ann")).await {
                Ok(_) => answered += 1,
                Err(refused) => {
                    assert_eq!(refused.error.kind, Kind::BudgetExhausted);
                    assert!(refused.error.message.contains("this key's owner"), "{}", refused.error.message);
                }
            }
        }
        assert_eq!(answered, 5, "5 × 1,050 of 5,500, although each key has a budget of its own");
        assert!(chain.complete(request(0, "bob")).await.is_ok(), "another owner has another budget");
        let owner = ledger.budget(Budget::Owner, "ann", Some(5_500_000)).await.unwrap();
        assert_eq!((owner.spent_nanos, owner.held_nanos, owner.limit_nanos), (5_250_000, 0, Some(5_500_000)));
    });
}
