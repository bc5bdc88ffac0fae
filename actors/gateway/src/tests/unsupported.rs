//! Providers whose adapters know without a call that they do not support a request.

use super::*;
use AttemptOutcome::{Ok as Answered, Transient, Unsupported};

fn cannot() -> CallScript {
    CallScript::Fail(Fault::unsupported("tools", "this provider knows no tools"))
}

#[test]
fn another_provider_is_called_without_penalty_or_retry() {
    test_world::run(|tree| async move {
        let (one, two) = (ScriptedProvider::answering(cannot()), ScriptedProvider::answering(CallScript::Answer(1)));
        let chain = chain(&tree, &[&one, &two], ChainOptions { retries: 3, ..options() }).await;
        for _ in 0..20 {
            let answer = chain.complete(chat_request()).await.unwrap();
            assert_eq!(outcomes(&answer.attempts), [("one", Unsupported), ("two", Answered)]);
        }
        assert_eq!((breaker(&chain, "one").state, breaker(&chain, "one").calls), (BreakerState::Closed, 0));
        assert_eq!(one.calls(), 20);
    });
}

#[test]
fn when_no_provider_supports_a_field_the_error_names_it() {
    test_world::run(|tree| async move {
        let one = ScriptedProvider::answering(cannot());
        let two = ScriptedProvider::answering(CallScript::Fail(Fault::unsupported("n", "one answer at a time")));
        let chain = chain(&tree, &[&one, &two], ChainOptions { retries: 3, ..options() }).await;
        let refused = chain.complete(chat_request()).await.unwrap_err();
        assert_eq!(refused.error.kind, Kind::UnsupportedValue);
        assert_eq!(refused.error.fields[0].loc, ["body", "tools"], "what the first one lacks");
        assert_eq!(outcomes(&refused.attempts), [("one", Unsupported), ("two", Unsupported)]);
        let ledger = SettlementLog::default();
        assert_eq!(chain.stream(chat_request(), ledger.entry()).await.unwrap_err().error.kind, Kind::UnsupportedValue);
        assert_eq!((ledger.only().end, ledger.only().cost_nanos), (StreamEnd::Failed, Some(0)));
    });
}

#[test]
fn a_failure_of_another_provider_takes_precedence() {
    for (first, second) in [(cannot(), transient()), (transient(), cannot())] {
        test_world::run(|tree| async move {
            let (one, two) = (ScriptedProvider::answering(first), ScriptedProvider::answering(second));
            let chain = chain(&tree, &[&one, &two], options()).await;
            let refused = chain.complete(chat_request()).await.unwrap_err();
            assert_eq!(refused.error.kind, Kind::ProviderFailed);
            let outcomes: Vec<_> = refused.attempts.iter().map(|attempt| attempt.outcome).collect();
            assert!(outcomes.contains(&Unsupported) && outcomes.contains(&Transient), "{outcomes:?}");
        });
    }
}

#[test]
fn a_probe_that_was_not_made_frees_its_slot_for_the_next() {
    test_world::run(|tree| async move {
        let one = ScriptedProvider::answering(throttled(7));
        let chain = chain(&tree, &[&one], options()).await;
        chain.complete(chat_request()).await.unwrap_err();
        until_open(&chain, "one").await;
        tokio::time::advance(secs(7)).await;
        one.set_default(cannot());
        for _ in 0..3 {
            let refused = chain.complete(chat_request()).await.unwrap_err();
            assert_eq!(refused.error.kind, Kind::UnsupportedValue, "and not: wait for the probe");
        }
        test_world::until(|| breaker(&chain, "one").state == BreakerState::HalfOpen).await;
        one.set_default(CallScript::Answer(1));
        chain.complete(chat_request()).await.unwrap();
        test_world::until(|| breaker(&chain, "one").state == BreakerState::Closed).await;
    });
}
