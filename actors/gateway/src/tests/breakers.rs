//! The chain with its breakers: skipping, probing, restarting.

use futures::future::join_all;
use tokio::sync::Semaphore;
use tokio::time::advance;

use super::*;

#[test]
fn an_open_breaker_is_skipped_until_its_cooldown_is_over() {
    test_world::run(|tree| async move {
        let (one, two) = (ScriptedProvider::answering(transient()), ScriptedProvider::answering(CallScript::Answer(1)));
        let chain = chain(&tree, &[&one, &two], options()).await;
        let mut changes = chain.changes();
        for n in 1..=5 {
            chain.complete(chat_request()).await.unwrap();
            until_counted(&chain, "one", n).await;
        }
        let changed = changes.recv().await.unwrap();
        assert_eq!((&*changed.provider, changed.to), ("one", BreakerState::Open));
        assert_eq!(changed.reason, Reason::ConsecutiveFailures);
        let answer = chain.complete(chat_request()).await.unwrap();
        assert_eq!(outcomes(&answer.attempts), [("one", AttemptOutcome::OpenCircuit), ("two", AttemptOutcome::Ok)]);
        assert_eq!(one.calls(), 5);

        one.set_default(CallScript::Answer(1));
        advance(secs(5)).await;
        assert_eq!(chain.complete(chat_request()).await.unwrap().provider_id, "one");
        test_world::until(|| breaker(&chain, "one").state == BreakerState::Closed).await;
    });
}

#[test]
fn a_hundred_requests_result_in_one_probe() {
    test_world::run(|tree| async move {
        let one = ScriptedProvider::answering(throttled(7));
        let chain = chain(&tree, &[&one], options()).await;
        chain.complete(chat_request()).await.unwrap_err();
        until_open(&chain, "one").await;
        let gate = Arc::new(Semaphore::new(0));
        one.set_default(CallScript::Gate(Arc::clone(&gate)));
        advance(secs(7)).await;

        let requests = join_all((0..100).map(|_| chain.complete(chat_request())));
        let (answers, ()) = tokio::join!(requests, async {
            test_world::until(|| one.calls() == 2 && breaker(&chain, "one").state == BreakerState::HalfOpen).await;
            gate.add_permits(1);
        });
        assert_eq!(one.calls(), 2, "the throttled call, and one probe");
        assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1);
        for refused in answers.into_iter().filter_map(Result::err) {
            assert_eq!((refused.error.kind, refused.error.retry_after), (Kind::Unavailable, Some(secs(1))));
        }
        test_world::until(|| breaker(&chain, "one").state == BreakerState::Closed).await;
        gate.add_permits(100);
        let answers = join_all((0..100).map(|_| chain.complete(chat_request()))).await;
        assert!(answers.iter().all(Result::is_ok));
    });
}

#[test]
fn a_probe_whose_client_disconnects_lets_the_next_one_probe() {
    test_world::run(|tree| async move {
        let one = ScriptedProvider::answering(throttled(7));
        let chain = chain(&tree, &[&one], options()).await;
        chain.complete(chat_request()).await.unwrap_err();
        until_open(&chain, "one").await;
        advance(secs(7)).await;
        one.set_default(CallScript::Hang);
        let left = tokio::time::timeout(ms(100), chain.complete(chat_request())).await;
        assert!(left.is_err());
        assert_eq!((one.calls(), one.in_progress()), (2, 0), "the provider's work is dropped with the client");
        one.set_default(CallScript::Answer(1));
        chain.complete(chat_request()).await.unwrap();
    });
}

#[test]
fn when_all_breakers_are_open_the_shortest_retry_time_is_returned() {
    test_world::run(|tree| async move {
        let (one, two) = (ScriptedProvider::answering(throttled(30)), ScriptedProvider::answering(throttled(12)));
        let chain = chain(&tree, &[&one, &two], options()).await;
        assert_eq!(chain.soonest_probe(), Some(Duration::ZERO));
        let first = chain.complete(chat_request()).await.unwrap_err().error;
        assert_eq!((first.kind, first.retry_after), (Kind::RateLimited, Some(secs(12))));
        until_open(&chain, "one").await;
        until_open(&chain, "two").await;
        let refused = chain.complete(chat_request()).await.unwrap_err();
        assert_eq!(refused.error.kind, Kind::RateLimited);
        let soonest = chain.soonest_probe().unwrap();
        assert_eq!(refused.error.retry_after, Some(soonest));
        assert!(soonest > secs(11) && soonest <= secs(12), "{soonest:?}");
        let open = AttemptOutcome::OpenCircuit;
        assert_eq!(outcomes(&refused.attempts), [("one", open), ("two", open)]);
        assert_eq!((one.calls(), two.calls()), (1, 1));
    });
}

#[test]
fn a_panic_under_load_neither_hangs_callers_nor_loses_the_breakers_state() {
    test_world::run(|tree| async move {
        let (one, two) =
            (ScriptedProvider::answering(throttled(600)), ScriptedProvider::answering(CallScript::Drip(ms(1))));
        let chain = chain(&tree, &[&one, &two], options()).await;
        two.set_default(CallScript::Answer(1));
        chain.complete(chat_request()).await.unwrap();
        until_open(&chain, "one").await;

        let load = join_all((0..400_u64).map(|n| {
            let chain = chain.clone();
            async move {
                muster_core::test_world::after(ms(n)).await;
                chain.complete(chat_request()).await
            }
        }));
        let killing = async {
            for path in ["chain/breaker-one", "chain/breaker-two", "chain/breaker-two"] {
                muster_core::test_world::after(ms(80)).await;
                until_running(&tree).await;
                assert!(tree.inject_panic(path));
            }
        };
        let (answers, ()) = tokio::join!(load, killing);
        let refused: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().err()).collect();
        assert!(refused.is_empty(), "a closed breaker's snapshot is leave enough: {} of 400 refused", refused.len());
        until_running(&tree).await;
        assert_eq!(tree.snapshot().iter().map(|actor| actor.restarts).sum::<u64>(), 3);
        let answer = chain.complete(chat_request()).await.unwrap();
        assert_eq!(outcomes(&answer.attempts), [("one", AttemptOutcome::OpenCircuit), ("two", AttemptOutcome::Ok)]);
        assert_eq!(one.calls(), 1, "an open breaker stays open across its actor's panic");
    });
}

#[test]
fn status_lists_the_chain_in_its_order() {
    test_world::run(|tree| async move {
        let one = ScriptedProvider::answering(CallScript::Answer(1));
        let chain = chain(&tree, &[&one, &one, &one], options()).await;
        chain.complete(chat_request()).await.unwrap();
        until_counted(&chain, "one", 1).await;
        let status = serde_json::to_value(chain.status()).unwrap();
        let ids: Vec<_> = status.as_array().unwrap().iter().map(|p| p["id"].as_str().unwrap()).collect();
        assert_eq!(ids, NAMES);
        assert_eq!((status[1]["order"].as_u64(), status[1]["kind"].as_str()), (Some(1), Some("openai")));
        assert_eq!(
            (status[0]["breaker"]["state"].as_str(), status[0]["breaker"]["calls"].as_u64()),
            (Some("closed"), Some(1))
        );
        assert_eq!(status[0]["models"][0], "m");
    });
}
