//! Order of attempts, and the error when no provider answers.

use muster_providers::ClientFault;
use tokio::time::Instant;

use super::*;

#[test]
fn each_fault_of_a_provider_leads_to_the_next() {
    let cases = [
        (transient(), AttemptOutcome::Transient, BreakerState::Closed, None),
        (throttled(33), AttemptOutcome::Throttled, BreakerState::Open, Some(secs(33))),
        (CallScript::Fail(fault(FaultClass::Hard)), AttemptOutcome::Hard, BreakerState::Open, Some(secs(300))),
    ];
    for (step, outcome, state, cooldown) in cases {
        test_world::run(|tree| async move {
            let (one, two) = (ScriptedProvider::answering(step), ScriptedProvider::answering(CallScript::Answer(2)));
            let chain = chain(&tree, &[&one, &two], options()).await;
            let answer = chain.complete(chat_request()).await.unwrap();
            assert_eq!((answer.provider_id.as_str(), answer.reply.first.content.as_str()), ("two", "word word "));
            assert_eq!(outcomes(&answer.attempts), [("one", outcome), ("two", AttemptOutcome::Ok)]);
            until_counted(&chain, "one", 1).await;
            let status = breaker(&chain, "one");
            assert_eq!(status.state, state);
            // The test clock starts with the chain, and the call took no time: one second is a generous bound.
            let left = status.cooldown_until.map(|until| until.since(test_world::START));
            assert_eq!(left.map(|left| secs(left.as_secs())), cooldown, "{left:?}");
        });
    }
}

#[test]
fn the_clients_own_fault_is_returned_at_once_without_penalty() {
    test_world::run(|tree| async move {
        let mut too_long = fault(FaultClass::Client);
        too_long.client = Some(ClientFault::ContextLengthExceeded);
        let (one, two) = (
            ScriptedProvider::answering(CallScript::Fail(too_long)),
            ScriptedProvider::answering(CallScript::Answer(1)),
        );
        let chain = chain(&tree, &[&one, &two], options()).await;
        for _ in 0..20 {
            let refused = chain.complete(chat_request()).await.unwrap_err();
            assert_eq!(refused.error.kind, Kind::ContextLengthExceeded);
            assert_eq!(outcomes(&refused.attempts), [("one", AttemptOutcome::Client)]);
        }
        assert_eq!((one.calls(), two.calls()), (20, 0));
        assert_eq!((breaker(&chain, "one").state, breaker(&chain, "one").calls), (BreakerState::Closed, 0));
    });
}

#[test]
fn when_all_fail_the_last_failure_is_reported() {
    test_world::run(|tree| async move {
        let one = ScriptedProvider::answering(transient());
        let chain = chain(&tree, &[&one, &one], options()).await;
        let refused = chain.complete(chat_request()).await.unwrap_err();
        assert_eq!(refused.error.kind, Kind::ProviderFailed);
        assert!(refused.error.message.contains("two: it broke"), "{}", refused.error.message);
        let expected = [("one", AttemptOutcome::Transient), ("two", AttemptOutcome::Transient)];
        assert_eq!(outcomes(&refused.attempts), expected);
    });
}

#[test]
fn a_chain_of_one_is_tried_again_after_a_back_off_with_jitter() {
    test_world::run(|tree| async move {
        let one = ScriptedProvider::answering(CallScript::Answer(1)).first([transient(), transient()]);
        let options = ChainOptions { retries: 2, backoff: secs(1), ..options() };
        let chain = chain(&tree, &[&one], options).await;
        let begun = Instant::now();
        let answer = chain.complete(chat_request()).await.unwrap();
        // Half of one second, then half of two.
        let took = begun.elapsed();
        assert!(took >= ms(1500) && took < ms(1510), "{took:?}");
        assert_eq!((one.calls(), answer.attempts.len()), (3, 3));
    });
}

#[test]
fn all_others_are_tried_before_any_is_tried_again_and_throttled_ones_are_not() {
    test_world::run(|tree| async move {
        let one = ScriptedProvider::answering(CallScript::Answer(1)).first([transient()]);
        let (two, three) = (ScriptedProvider::answering(throttled(1)), ScriptedProvider::answering(transient()));
        let chain = chain(&tree, &[&one, &two, &three], ChainOptions { retries: 1, ..options() }).await;
        let answer = chain.complete(chat_request()).await.unwrap();
        use AttemptOutcome::{Ok, Throttled, Transient};
        assert_eq!(
            outcomes(&answer.attempts),
            [("one", Transient), ("two", Throttled), ("three", Transient), ("one", Ok)]
        );
    });
}

#[test]
fn a_back_off_that_would_pass_the_deadline_is_not_waited_for_and_attempts_are_bounded() {
    test_world::run(|tree| async move {
        let one = ScriptedProvider::answering(transient());
        let chain_options = ChainOptions { retries: 50, backoff: secs(1), max_attempts: 4, ..options() };
        let chain = chain(&tree, &[&one], chain_options).await;
        let begun = Instant::now();
        let hurried = GatewayChatRequest { deadline: Some(ms(400)), ..chat_request() };
        assert_eq!(chain.complete(hurried).await.unwrap_err().error.kind, Kind::ProviderFailed);
        assert!(begun.elapsed() < ms(10), "half a second does not fit into 400 ms");
        assert_eq!(one.calls(), 1);
        assert_eq!(chain.complete(chat_request()).await.unwrap_err().attempts.len(), 4);
    });
}

#[test]
fn one_deadline_bounds_the_whole_chain() {
    test_world::run(|tree| async move {
        let hung = ScriptedProvider::answering(CallScript::Hang);
        let chain = chain(&tree, &[&hung, &hung], options()).await;
        for (deadline, expected) in [(None, secs(60)), (Some(secs(2)), secs(2))] {
            let begun = Instant::now();
            let refused = chain.complete(GatewayChatRequest { deadline, ..chat_request() }).await.unwrap_err();
            let took = begun.elapsed();
            assert!(took >= expected && took < expected + ms(10), "{took:?}");
            assert_eq!(refused.error.kind, Kind::ProviderFailed);
            assert_eq!(outcomes(&refused.attempts), [("one", AttemptOutcome::Deadline)]);
            assert_eq!(hung.in_progress(), 0, "the call is dropped");
        }
        // 60 s exceed the time limit of its phase; 2 s are not its fault.
        assert_eq!(failures_of(&chain, "one", &hung).await, 1);
    });
}

#[test]
fn a_model_that_is_not_ready_explains_the_remedy_and_does_not_count_as_failed() {
    test_world::run(|tree| async move {
        let absent = Fault::transient(Phase::Connect, "run `muster models fetch`").with_retry_after(secs(60));
        let one = ScriptedProvider::answering(CallScript::Fail(absent));
        let alone = chain(&tree, &[&one], ChainOptions { retries: 3, ..options() }).await;
        for _ in 0..10 {
            let refused = alone.complete(chat_request()).await.unwrap_err();
            assert_eq!((refused.error.kind, refused.error.retry_after), (Kind::Unavailable, Some(secs(60))));
            assert_eq!(refused.error.message, "run `muster models fetch`");
            assert_eq!(outcomes(&refused.attempts), [("one", AttemptOutcome::NotReady)]);
        }
        assert_eq!((breaker(&alone, "one").state, breaker(&alone, "one").calls), (BreakerState::Closed, 0));
        assert_eq!(one.calls(), 10, "the provider named its retry time: earlier attempts are useless");
    });
}

#[test]
fn an_unknown_model_name_is_not_found_and_does_not_count_against_its_provider() {
    test_world::run(|tree| async move {
        let unknown = Fault { status: Some(404), ..fault(FaultClass::Transient) };
        let one = ScriptedProvider::answering(CallScript::Fail(unknown));
        let chain = chain_of(&tree, &[settings("one", &["*"])], &[&one], options()).await;
        for _ in 0..10 {
            let refused = chain
                .complete(GatewayChatRequest { models: vec!["made-up".to_owned()], ..chat_request() })
                .await
                .unwrap_err();
            assert_eq!(refused.error.kind, Kind::ModelNotFound);
            assert_eq!(refused.error.fields[0].loc, ["body", "model"]);
            assert_eq!(outcomes(&refused.attempts), [("one", AttemptOutcome::UnknownModel)]);
        }
        assert_eq!(one.last_call().upstream_model, "made-up");
        assert_eq!(breaker(&chain, "one").state, BreakerState::Closed);
    });
}

#[test]
fn a_name_without_a_provider_is_rejected_before_any_attempt() {
    test_world::run(|tree| async move {
        let one = ScriptedProvider::answering(CallScript::Answer(1));
        let keyless = ProviderSettings {
            api_key_env: Some("TWO_API_KEY".to_owned()),
            has_key: false,
            ..settings("two", &["locked"])
        };
        let chain = chain_of(&tree, &[settings("one", &["m"]), keyless], &[&one, &one], options()).await;
        let request = |model: &str| GatewayChatRequest { models: vec![model.to_owned()], ..chat_request() };
        let missing = chain.complete(request("nobody-has-it")).await.unwrap_err();
        assert_eq!(missing.error.kind, Kind::ModelNotFound);
        let locked = Error::from(chain.complete(request("locked")).await.unwrap_err());
        assert_eq!(locked.kind, Kind::ModelUnconfigured);
        assert!(locked.message.contains("TWO_API_KEY"), "{}", locked.message);
        assert_eq!(one.calls(), 0);
    });
}
