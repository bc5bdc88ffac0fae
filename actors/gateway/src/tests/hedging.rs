//! Hedging: a second provider beside a slow one; the first answer wins and the other call is cancelled.

use muster_providers::ClientFault;
use tokio::time::Instant;

use super::*;
use AttemptOutcome::{Cancelled, Client, Deadline, Hard, Ok as Answered, OpenCircuit, Transient};

const HEDGE: Duration = Duration::from_secs(1);

fn hedged_request() -> GatewayChatRequest {
    GatewayChatRequest { hedge_after: Some(HEDGE), ..chat_request() }
}

fn rejection() -> CallScript {
    CallScript::Fail(Fault { client: Some(ClientFault::InvalidRequest), ..fault(FaultClass::Client) })
}

fn assert_about(took: Duration, expected: Duration) {
    assert!(took >= expected && took < expected + ms(10), "{took:?} instead of {expected:?}");
}

#[test]
fn the_first_response_is_returned_and_the_other_call_is_cancelled_without_penalty() {
    // Latencies of the first and second provider, the winner and its time.
    let cases = [
        (secs(10), ms(200), "two", ms(1200), vec![("one", Cancelled), ("two", Answered)]),
        (ms(1500), secs(10), "one", ms(1500), vec![("two", Cancelled), ("one", Answered)]),
        (ms(900), ms(0), "one", ms(900), vec![("one", Answered)]),
    ];
    for (first, second, winner, expected, attempts) in cases {
        test_world::run(|tree| async move {
            let one = ScriptedProvider::answering(delayed(first, CallScript::Answer(1)));
            let two = ScriptedProvider::answering(delayed(second, CallScript::Answer(2)));
            let chain = chain(&tree, &[&one, &two], options()).await;
            let begun = Instant::now();
            let answer = chain.complete(hedged_request()).await.unwrap();
            assert_about(begun.elapsed(), expected);
            assert_eq!(answer.provider_id, winner);
            assert_eq!(outcomes(&answer.attempts), attempts);
            assert_eq!(
                (one.in_progress(), two.in_progress()),
                (0, 0),
                "the loser's work ends with the winner's answer"
            );
            until_counted(&chain, winner, 1).await;
            let loser = if winner == "one" { "two" } else { "one" };
            assert_eq!(
                breaker(&chain, loser).calls,
                0,
                "a cancelled call counts neither as a failure nor as a success"
            );
        });
    }
}

#[test]
fn a_stream_is_hedged_until_its_first_delta_and_settled_once() {
    test_world::run(|tree| async move {
        let one = ScriptedProvider::answering(delayed(secs(10), CallScript::Answer(9)));
        let two = ScriptedProvider::answering(CallScript::Answer(3));
        let chain = chain(&tree, &[&one, &two], options()).await;
        let ledger = SettlementLog::default();
        let mut streaming = chain.stream(hedged_request(), ledger.entry()).await.unwrap();
        assert_about(streaming.first_delta_after, HEDGE);
        assert_eq!((streaming.provider_id.as_str(), one.in_progress(), two.in_progress()), ("two", 0, 1));
        assert_eq!(outcomes(&streaming.attempts), [("one", Cancelled), ("two", Answered)]);
        assert_eq!(read_to_end(&mut streaming).await, (3, Some(Ok(estimated_usage(3)))));
        let settled = ledger.only();
        assert_eq!(
            (settled.end, settled.usage, settled.provider_id.as_deref()),
            (StreamEnd::Done, estimated_usage(3), Some("two"))
        );

        // Once it has begun, its deltas may be slow.
        one.set_default(CallScript::Drip(ms(900)));
        let mut streaming = chain.stream(hedged_request(), |_| ()).await.unwrap();
        for _ in 0..5 {
            streaming.next().await.unwrap().unwrap();
        }
        assert_eq!((streaming.provider_id.as_str(), two.calls()), ("one", 1));
    });
}

#[test]
fn if_one_of_two_calls_fails_the_other_continues() {
    test_world::run(|tree| async move {
        // The first fails while the hedge is in progress.
        let one = ScriptedProvider::answering(delayed(ms(1500), transient()));
        let two = ScriptedProvider::answering(delayed(secs(2), CallScript::Answer(1)));
        let three = ScriptedProvider::answering(CallScript::Answer(1));
        let chain = chain(&tree, &[&one, &two, &three], options()).await;
        let begun = Instant::now();
        let answer = chain.complete(hedged_request()).await.unwrap();
        // The hedge, alone since then, started at 1 s: at 2 s the third is started beside it.
        assert_about(begun.elapsed(), secs(2));
        assert_eq!(outcomes(&answer.attempts), [("one", Transient), ("two", Cancelled), ("three", Answered)]);
        until_counted(&chain, "one", 1).await;

        // The hedge fails: the next is started beside the first at once, and the first continues.
        one.set_default(delayed(secs(3), CallScript::Answer(1)));
        two.set_default(delayed(ms(500), CallScript::Fail(fault(FaultClass::Hard))));
        three.set_default(delayed(ms(500), transient()));
        let begun = Instant::now();
        let answer = chain.complete(hedged_request()).await.unwrap();
        assert_about(begun.elapsed(), secs(3));
        assert_eq!(outcomes(&answer.attempts), [("two", Hard), ("three", Transient), ("one", Answered)]);
        assert_eq!(answer.attempts.iter().map(|attempt| attempt.latency_ms).collect::<Vec<_>>(), [500, 500, 3000]);
    });
}

#[test]
fn when_both_calls_fail_the_retries_continue() {
    test_world::run(|tree| async move {
        let one = ScriptedProvider::answering(CallScript::Answer(1)).first([delayed(ms(1200), transient())]);
        let two = ScriptedProvider::answering(transient());
        let chain = chain(&tree, &[&one, &two], ChainOptions { backoff: secs(1), ..options() }).await;
        let begun = Instant::now();
        let answer = chain.complete(GatewayChatRequest { retries: Some(1), ..hedged_request() }).await.unwrap();
        // The hedge failed first, and is retried first.
        assert_eq!(
            outcomes(&answer.attempts),
            [("two", Transient), ("one", Transient), ("two", Transient), ("one", Answered)]
        );
        assert_about(begun.elapsed(), ms(1200) + ms(500));
    });
}

#[test]
fn a_rejected_hedge_does_not_fail_a_request_whose_first_call_succeeds() {
    test_world::run(|tree| async move {
        let one = ScriptedProvider::answering(delayed(secs(2), CallScript::Answer(1)));
        let two = ScriptedProvider::answering(rejection());
        let three = ScriptedProvider::answering(CallScript::Answer(1));
        let chain = chain(&tree, &[&one, &two, &three], ChainOptions { retries: 3, ..options() }).await;
        let answer = chain.complete(hedged_request()).await.unwrap();
        assert_eq!(outcomes(&answer.attempts), [("two", Client), ("one", Answered)]);

        // If the first fails too, the hedge's rejection stands, as it would without hedging.
        one.set_default(delayed(secs(2), transient()));
        let refused = chain.complete(hedged_request()).await.unwrap_err();
        assert_eq!(refused.error.kind, Kind::Invalid);
        assert_eq!(outcomes(&refused.attempts), [("two", Client), ("one", Transient)]);

        // A rejection by the first is final at once.
        one.set_default(delayed(ms(1200), rejection()));
        two.set_default(CallScript::Hang);
        let begun = Instant::now();
        let refused = chain.complete(hedged_request()).await.unwrap_err();
        assert_about(begun.elapsed(), ms(1200));
        assert_eq!(refused.error.kind, Kind::Invalid);
        assert_eq!(outcomes(&refused.attempts), [("one", Client), ("two", Cancelled)]);
        assert_eq!((two.in_progress(), three.calls()), (0, 0));
    });
}

#[test]
fn a_hedge_needs_a_permit_of_its_own_breaker() {
    test_world::run(|tree| async move {
        let one = ScriptedProvider::answering(delayed(secs(2), CallScript::Answer(1)));
        let (two, three) =
            (ScriptedProvider::answering(throttled(60)), ScriptedProvider::answering(CallScript::Answer(1)));
        let chain = chain(&tree, &[&one, &two, &three], options()).await;
        chain
            .complete(GatewayChatRequest { models: vec!["two/m".to_owned(), "two/m".to_owned()], ..chat_request() })
            .await
            .unwrap_err();
        until_open(&chain, "two").await;
        let answer = chain.complete(hedged_request()).await.unwrap();
        assert_eq!(outcomes(&answer.attempts), [("two", OpenCircuit), ("one", Cancelled), ("three", Answered)]);

        // A cancelled probe frees its place for the next one.
        tokio::time::advance(secs(60)).await;
        two.set_default(CallScript::Hang);
        let answer = chain.complete(hedged_request()).await.unwrap();
        assert_eq!(outcomes(&answer.attempts), [("two", Cancelled), ("one", Answered)]);
        two.set_default(CallScript::Answer(1));
        let answer =
            chain.complete(GatewayChatRequest { models: vec!["two/m".to_owned()], ..chat_request() }).await.unwrap();
        assert_eq!(outcomes(&answer.attempts), [("two", Answered)]);
        test_world::until(|| breaker(&chain, "two").state == BreakerState::Closed).await;
    });
}

/// Opens the breaker of `two` and lets its cool-down pass: only a closed breaker admits calls without its actor.
async fn due_for_its_probe(chain: &Chain, two: &ScriptedProvider) {
    chain.complete(GatewayChatRequest { models: vec!["two/m".to_owned(); 2], ..chat_request() }).await.unwrap_err();
    test_world::until(|| breaker(chain, "two").state == BreakerState::Open).await;
    two.set_default(CallScript::Answer(1));
    tokio::time::advance(secs(60)).await;
}

#[test]
fn a_provider_whose_breaker_is_being_called_while_the_first_call_fails_is_still_tried() {
    test_world::run(|tree| async move {
        let one = ScriptedProvider::answering(delayed(ms(1500), transient()));
        let two = ScriptedProvider::answering(throttled(1));
        let chain = chain(&tree, &[&one, &two], options()).await;
        due_for_its_probe(&chain, &two).await;
        let holders = chain.holders();
        let mut completing = Box::pin(chain.complete(hedged_request()));
        tokio::select! {
            biased;
            _ = &mut completing => panic!("answered before its time"),
            () = test_world::until(|| one.calls() == 1) => {}
        }
        // The hedge is due: its breaker's actor answers, but the request is not polled before the first call fails.
        tokio::time::advance(ms(1100)).await;
        assert!(futures::poll!(completing.as_mut()).is_pending());
        assert_eq!(two.calls(), 1, "the attempt that opened its breaker");
        tokio::time::advance(ms(500)).await;
        let answer = completing.await.unwrap();
        assert_eq!(outcomes(&answer.attempts), [("one", Transient), ("two", Answered)]);
        test_world::until(|| chain.holders() == holders).await;
    });
}

#[test]
fn a_stopped_breaker_delays_neither_the_hedge_nor_the_first_call() {
    test_world::run(|tree| async move {
        let one = ScriptedProvider::answering(delayed(secs(2), CallScript::Answer(1)));
        let two = ScriptedProvider::answering(throttled(1));
        let chain = chain(&tree, &[&one, &two], options()).await;
        due_for_its_probe(&chain, &two).await;
        let killing = async {
            test_world::after(ms(990)).await;
            assert!(tree.inject_panic("chain/breaker-two"));
        };
        let (answer, ()) = tokio::join!(chain.complete(hedged_request()), killing);
        let answer = answer.unwrap();
        assert_eq!(outcomes(&answer.attempts), [("two", AttemptOutcome::Unavailable), ("one", Answered)]);
        assert!(answer.latency <= secs(2) + ms(10), "{:?}", answer.latency);
    });
}

#[test]
fn deadline_and_attempts_bound_a_hedged_request_too() {
    test_world::run(|tree| async move {
        let hung = ScriptedProvider::answering(CallScript::Hang);
        let chain = chain(&tree, &[&hung, &hung, &hung], options()).await;
        let begun = Instant::now();
        let refused =
            chain.complete(GatewayChatRequest { deadline: Some(secs(3)), ..hedged_request() }).await.unwrap_err();
        assert_about(begun.elapsed(), secs(3));
        assert_eq!(outcomes(&refused.attempts), [("one", Deadline), ("two", Deadline)], "two at a time, and no third");
        assert_eq!((refused.error.kind, hung.in_progress()), (Kind::ProviderFailed, 0));
    });
    test_world::run(|tree| async move {
        let one = ScriptedProvider::answering(delayed(secs(5), CallScript::Answer(1)));
        let two = ScriptedProvider::answering(CallScript::Answer(1));
        let chain = chain(&tree, &[&one, &two], ChainOptions { max_attempts: 1, ..options() }).await;
        let answer = chain.complete(hedged_request()).await.unwrap();
        assert_eq!((outcomes(&answer.attempts), two.calls()), (vec![("one", Answered)], 0));
    });
}

#[test]
fn a_disconnected_client_cancels_both_calls() {
    test_world::run(|tree| async move {
        let hung = ScriptedProvider::answering(CallScript::Hang);
        let chain = chain(&tree, &[&hung, &hung], options()).await;
        let holders = chain.holders();
        let ledger = SettlementLog::default();
        assert!(tokio::time::timeout(ms(1500), chain.stream(hedged_request(), ledger.entry())).await.is_err());
        assert_eq!((hung.calls(), hung.in_progress()), (2, 0));
        assert_eq!(ledger.only().end, StreamEnd::ClientGone);
        test_world::until(|| chain.holders() == holders).await;
    });
}
