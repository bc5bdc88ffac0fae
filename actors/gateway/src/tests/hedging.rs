//! A second provider beside one that takes long: the first answer wins, the other call ends at once.

use muster_providers::ClientFault;
use tokio::time::Instant;

use super::*;
use AttemptOutcome::{Cancelled, Client, Deadline, Hard, Ok as Answered, OpenCircuit, Transient};

const HEDGE: Duration = Duration::from_secs(1);

fn hedged() -> ChatAsk {
    ChatAsk { hedge_after: Some(HEDGE), ..ask() }
}

fn refusal() -> Act {
    Act::Fail(Fault { client: Some(ClientFault::InvalidRequest), ..fault(FaultClass::Client) })
}

fn about(took: Duration, expected: Duration) {
    assert!(took >= expected && took < expected + ms(10), "{took:?} instead of {expected:?}");
}

#[test]
fn the_first_answer_wins_and_the_other_call_ends_without_blame() {
    // How long the first and the second take, and who wins after how long.
    let cases = [
        (secs(10), ms(200), "two", ms(1200), vec![("one", Cancelled), ("two", Answered)]),
        (ms(1500), secs(10), "one", ms(1500), vec![("two", Cancelled), ("one", Answered)]),
        (ms(900), ms(0), "one", ms(900), vec![("one", Answered)]),
    ];
    for (first, second, winner, expected, attempts) in cases {
        test_world::run(|tree| async move {
            let one = Double::always(late(first, Act::Answer(1)));
            let two = Double::always(late(second, Act::Answer(2)));
            let chain = chain(&tree, &[&one, &two], options()).await;
            let begun = Instant::now();
            let answer = chain.complete(hedged()).await.unwrap();
            about(begun.elapsed(), expected);
            assert_eq!(answer.provider_id, winner);
            assert_eq!(tried(&answer.attempts), attempts);
            assert_eq!((one.open(), two.open()), (0, 0), "the loser's work ends with the winner's answer");
            counted(&chain, winner, 1).await;
            let loser = if winner == "one" { "two" } else { "one" };
            assert_eq!(breaker(&chain, loser).calls, 0, "who was not waited for is neither blamed nor praised");
        });
    }
}

#[test]
fn a_stream_is_hedged_until_its_first_delta_and_settled_once() {
    test_world::run(|tree| async move {
        let one = Double::always(late(secs(10), Act::Answer(9)));
        let two = Double::always(Act::Answer(3));
        let chain = chain(&tree, &[&one, &two], options()).await;
        let ledger = Ledger::default();
        let mut streaming = chain.stream(hedged(), ledger.entry()).await.unwrap();
        about(streaming.first_delta_after, HEDGE);
        assert_eq!((streaming.provider_id.as_str(), one.open(), two.open()), ("two", 0, 1));
        assert_eq!(tried(&streaming.attempts), [("one", Cancelled), ("two", Answered)]);
        assert_eq!(read(&mut streaming).await, (3, Some(Ok(estimated(3)))));
        let settled = ledger.only();
        assert_eq!(
            (settled.end, settled.usage, settled.provider_id.as_deref()),
            (StreamEnd::Done, estimated(3), Some("two"))
        );

        // Its deltas may come as slowly as they like: it has begun.
        one.now_always(Act::Drip(ms(900)));
        let mut streaming = chain.stream(hedged(), |_| ()).await.unwrap();
        for _ in 0..5 {
            streaming.next().await.unwrap().unwrap();
        }
        assert_eq!((streaming.provider_id.as_str(), two.calls()), ("one", 1));
    });
}

#[test]
fn where_one_of_two_fails_the_other_goes_on() {
    test_world::run(|tree| async move {
        // The first fails while the hedge is under way.
        let one = Double::always(late(ms(1500), transient()));
        let two = Double::always(late(secs(2), Act::Answer(1)));
        let three = Double::always(Act::Answer(1));
        let chain = chain(&tree, &[&one, &two, &three], options()).await;
        let begun = Instant::now();
        let answer = chain.complete(hedged()).await.unwrap();
        // The hedge, alone since, was begun at 1 s: at 2 s it is joined by the third.
        about(begun.elapsed(), secs(2));
        assert_eq!(tried(&answer.attempts), [("one", Transient), ("two", Cancelled), ("three", Answered)]);
        counted(&chain, "one", 1).await;

        // The hedge fails: the next is begun beside the first at once, and the first goes on.
        one.now_always(late(secs(3), Act::Answer(1)));
        two.now_always(late(ms(500), Act::Fail(fault(FaultClass::Hard))));
        three.now_always(late(ms(500), transient()));
        let begun = Instant::now();
        let answer = chain.complete(hedged()).await.unwrap();
        about(begun.elapsed(), secs(3));
        assert_eq!(tried(&answer.attempts), [("two", Hard), ("three", Transient), ("one", Answered)]);
        assert_eq!(answer.attempts.iter().map(|attempt| attempt.latency_ms).collect::<Vec<_>>(), [500, 500, 3000]);
    });
}

#[test]
fn both_fail_and_the_walk_goes_on_with_its_retries() {
    test_world::run(|tree| async move {
        let one = Double::always(Act::Answer(1)).first([late(ms(1200), transient())]);
        let two = Double::always(transient());
        let chain = chain(&tree, &[&one, &two], ChainOptions { backoff: secs(1), ..options() }).await;
        let begun = Instant::now();
        let answer = chain.complete(ChatAsk { retries: Some(1), ..hedged() }).await.unwrap();
        // The hedge failed first, and is asked first again.
        assert_eq!(
            tried(&answer.attempts),
            [("two", Transient), ("one", Transient), ("two", Transient), ("one", Answered)]
        );
        about(begun.elapsed(), ms(1200) + ms(500));
    });
}

#[test]
fn a_request_is_not_worse_off_for_its_hedge() {
    test_world::run(|tree| async move {
        let one = Double::always(late(secs(2), Act::Answer(1)));
        let two = Double::always(refusal());
        let three = Double::always(Act::Answer(1));
        let chain = chain(&tree, &[&one, &two, &three], ChainOptions { retries: 3, ..options() }).await;
        let answer = chain.complete(hedged()).await.unwrap();
        assert_eq!(tried(&answer.attempts), [("two", Client), ("one", Answered)]);

        // Where the first fails too, what the hedge said stands, as it would without one.
        one.now_always(late(secs(2), transient()));
        let refused = chain.complete(hedged()).await.unwrap_err();
        assert_eq!(refused.error.kind, Kind::Invalid);
        assert_eq!(tried(&refused.attempts), [("two", Client), ("one", Transient)]);

        // What the first one refuses is refused at once.
        one.now_always(late(ms(1200), refusal()));
        two.now_always(Act::Hang);
        let begun = Instant::now();
        let refused = chain.complete(hedged()).await.unwrap_err();
        about(begun.elapsed(), ms(1200));
        assert_eq!(refused.error.kind, Kind::Invalid);
        assert_eq!(tried(&refused.attempts), [("one", Client), ("two", Cancelled)]);
        assert_eq!((two.open(), three.calls()), (0, 0));
    });
}

#[test]
fn a_hedge_needs_its_own_breakers_leave() {
    test_world::run(|tree| async move {
        let one = Double::always(late(secs(2), Act::Answer(1)));
        let (two, three) = (Double::always(throttled(60)), Double::always(Act::Answer(1)));
        let chain = chain(&tree, &[&one, &two, &three], options()).await;
        chain.complete(ChatAsk { models: vec!["two/m".to_owned(), "two/m".to_owned()], ..ask() }).await.unwrap_err();
        opened(&chain, "two").await;
        let answer = chain.complete(hedged()).await.unwrap();
        assert_eq!(tried(&answer.attempts), [("two", OpenCircuit), ("one", Cancelled), ("three", Answered)]);

        // A probe that lost the race leaves its place to the next one.
        tokio::time::advance(secs(60)).await;
        two.now_always(Act::Hang);
        let answer = chain.complete(hedged()).await.unwrap();
        assert_eq!(tried(&answer.attempts), [("two", Cancelled), ("one", Answered)]);
        two.now_always(Act::Answer(1));
        let answer = chain.complete(ChatAsk { models: vec!["two/m".to_owned()], ..ask() }).await.unwrap();
        assert_eq!(tried(&answer.attempts), [("two", Answered)]);
        test_world::until(|| breaker(&chain, "two").state == BreakerState::Closed).await;
    });
}

/// Opens the breaker of `two` and lets its cool-down pass: only a closed one lets calls through unasked.
async fn due_for_its_probe(chain: &Chain, two: &Double) {
    chain.complete(ChatAsk { models: vec!["two/m".to_owned(); 2], ..ask() }).await.unwrap_err();
    test_world::until(|| breaker(chain, "two").state == BreakerState::Open).await;
    two.now_always(Act::Answer(1));
    tokio::time::advance(secs(60)).await;
}

#[test]
fn a_provider_whose_breaker_is_being_asked_while_the_first_call_fails_is_not_lost() {
    test_world::run(|tree| async move {
        let one = Double::always(late(ms(1500), transient()));
        let two = Double::always(throttled(1));
        let chain = chain(&tree, &[&one, &two], options()).await;
        due_for_its_probe(&chain, &two).await;
        let holders = chain.holders();
        let mut asking = Box::pin(chain.complete(hedged()));
        tokio::select! {
            biased;
            _ = &mut asking => panic!("answered before its time"),
            () = test_world::until(|| one.calls() == 1) => {}
        }
        // The hedge is due: its breaker is asked, and answers to a request that is not polled before the first fails.
        tokio::time::advance(ms(1100)).await;
        assert!(futures::poll!(asking.as_mut()).is_pending());
        assert_eq!(two.calls(), 1, "the one that opened its breaker");
        tokio::time::advance(ms(500)).await;
        let answer = asking.await.unwrap();
        assert_eq!(tried(&answer.attempts), [("one", Transient), ("two", Answered)]);
        test_world::until(|| chain.holders() == holders).await;
    });
}

#[test]
fn a_dead_breaker_keeps_no_hedge_and_no_first_call_waiting() {
    test_world::run(|tree| async move {
        let one = Double::always(late(secs(2), Act::Answer(1)));
        let two = Double::always(throttled(1));
        let chain = chain(&tree, &[&one, &two], options()).await;
        due_for_its_probe(&chain, &two).await;
        let killing = async {
            test_world::after(ms(990)).await;
            assert!(tree.inject_panic("chain/breaker-two"));
        };
        let (answer, ()) = tokio::join!(chain.complete(hedged()), killing);
        let answer = answer.unwrap();
        assert_eq!(tried(&answer.attempts), [("two", AttemptOutcome::Unavailable), ("one", Answered)]);
        assert!(answer.latency <= secs(2) + ms(10), "{:?}", answer.latency);
    });
}

#[test]
fn deadline_and_attempts_bound_a_hedged_request_too() {
    test_world::run(|tree| async move {
        let hung = Double::always(Act::Hang);
        let chain = chain(&tree, &[&hung, &hung, &hung], options()).await;
        let begun = Instant::now();
        let refused = chain.complete(ChatAsk { deadline: Some(secs(3)), ..hedged() }).await.unwrap_err();
        about(begun.elapsed(), secs(3));
        assert_eq!(tried(&refused.attempts), [("one", Deadline), ("two", Deadline)], "two at a time, and no third");
        assert_eq!((refused.error.kind, hung.open()), (Kind::ProviderFailed, 0));
    });
    test_world::run(|tree| async move {
        let one = Double::always(late(secs(5), Act::Answer(1)));
        let two = Double::always(Act::Answer(1));
        let chain = chain(&tree, &[&one, &two], ChainOptions { max_attempts: 1, ..options() }).await;
        let answer = chain.complete(hedged()).await.unwrap();
        assert_eq!((tried(&answer.attempts), two.calls()), (vec![("one", Answered)], 0));
    });
}

#[test]
fn a_client_that_leaves_cancels_both_calls() {
    test_world::run(|tree| async move {
        let hung = Double::always(Act::Hang);
        let chain = chain(&tree, &[&hung, &hung], options()).await;
        let holders = chain.holders();
        let ledger = Ledger::default();
        assert!(tokio::time::timeout(ms(1500), chain.stream(hedged(), ledger.entry())).await.is_err());
        assert_eq!((hung.calls(), hung.open()), (2, 0));
        assert_eq!(ledger.only().end, StreamEnd::ClientGone);
        test_world::until(|| chain.holders() == holders).await;
    });
}
