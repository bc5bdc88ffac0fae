//! A provider that cannot do what is asked, as its adapter knows without a call.

use super::*;
use AttemptOutcome::{Ok as Answered, Transient, Unsupported};

fn cannot() -> Act {
    Act::Fail(Fault::unsupported("tools", "this provider knows no tools"))
}

#[test]
fn another_provider_is_asked_without_a_penalty_or_a_second_try() {
    test_world::run(|tree| async move {
        let (one, two) = (Double::always(cannot()), Double::always(Act::Answer(1)));
        let chain = chain(&tree, &[&one, &two], ChainOptions { retries: 3, ..options() }).await;
        for _ in 0..20 {
            let answer = chain.complete(ask()).await.unwrap();
            assert_eq!(tried(&answer.attempts), [("one", Unsupported), ("two", Answered)]);
        }
        assert_eq!((breaker(&chain, "one").state, breaker(&chain, "one").calls), (BreakerState::Closed, 0));
        assert_eq!(one.calls(), 20);
    });
}

#[test]
fn where_nobody_can_the_field_is_named() {
    test_world::run(|tree| async move {
        let one = Double::always(cannot());
        let two = Double::always(Act::Fail(Fault::unsupported("n", "one answer at a time")));
        let chain = chain(&tree, &[&one, &two], ChainOptions { retries: 3, ..options() }).await;
        let refused = chain.complete(ask()).await.unwrap_err();
        assert_eq!(refused.error.kind, Kind::UnsupportedValue);
        assert_eq!(refused.error.fields[0].loc, ["body", "tools"], "what the first one lacks");
        assert_eq!(tried(&refused.attempts), [("one", Unsupported), ("two", Unsupported)]);
        let ledger = Ledger::default();
        assert_eq!(chain.stream(ask(), ledger.entry()).await.unwrap_err().error.kind, Kind::UnsupportedValue);
        assert_eq!((ledger.only().end, ledger.only().cost_nanos), (StreamEnd::Failed, Some(0)));
    });
}

#[test]
fn a_true_failure_of_another_one_is_what_is_told() {
    for (first, second) in [(cannot(), transient()), (transient(), cannot())] {
        test_world::run(|tree| async move {
            let (one, two) = (Double::always(first), Double::always(second));
            let chain = chain(&tree, &[&one, &two], options()).await;
            let refused = chain.complete(ask()).await.unwrap_err();
            assert_eq!(refused.error.kind, Kind::ProviderFailed);
            let outcomes: Vec<_> = refused.attempts.iter().map(|attempt| attempt.outcome).collect();
            assert!(outcomes.contains(&Unsupported) && outcomes.contains(&Transient), "{outcomes:?}");
        });
    }
}

#[test]
fn a_probe_that_was_never_made_leaves_its_place_to_the_next() {
    test_world::run(|tree| async move {
        let one = Double::always(throttled(7));
        let chain = chain(&tree, &[&one], options()).await;
        chain.complete(ask()).await.unwrap_err();
        opened(&chain, "one").await;
        tokio::time::advance(secs(7)).await;
        one.now_always(cannot());
        for _ in 0..3 {
            let refused = chain.complete(ask()).await.unwrap_err();
            assert_eq!(refused.error.kind, Kind::UnsupportedValue, "and not: wait for the probe");
        }
        test_world::until(|| breaker(&chain, "one").state == BreakerState::HalfOpen).await;
        one.now_always(Act::Answer(1));
        chain.complete(ask()).await.unwrap();
        test_world::until(|| breaker(&chain, "one").state == BreakerState::Closed).await;
    });
}
