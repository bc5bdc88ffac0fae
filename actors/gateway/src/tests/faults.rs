//! Fault matrix: what the caller sees of each fault, what the breaker records, what is settled.
//!
//! Faults are classified as by the adapters; the classification is tested in the adapters.

use super::*;

struct Row {
    name: &'static str,
    step: CallScript,
    outcome: AttemptOutcome,
    /// Breaker state after the fault.
    reason: Reason,
}

fn row(name: &'static str, outcome: AttemptOutcome, reason: Reason, step: CallScript) -> Row {
    Row { name, step, outcome, reason }
}

fn at(phase: Phase, words: &str) -> Fault {
    Fault::transient(phase, words)
}

/// Every fault before the first delta.
fn unseen() -> Vec<Row> {
    use AttemptOutcome::{Hard, Throttled, Transient};
    use Reason::{Rejected, Started};
    let limits = options().timeouts;
    let unauthorized = Fault { status: Some(401), ..Fault::new(FaultClass::Hard, Phase::Headers, "bad key") };
    let bytes = |fault| CallScript::Break(0, Ending::Fault(fault));
    vec![
        row("500", Transient, Started, transient()),
        row("429", Throttled, Reason::Throttled, throttled(9)),
        row("401", Hard, Rejected, CallScript::Fail(unauthorized)),
        row("connection refused", Transient, Started, CallScript::Fail(at(Phase::Connect, "connection refused"))),
        row(
            "a hang before the headers",
            Transient,
            Started,
            delayed(limits.headers, CallScript::Fail(at(Phase::Headers, "no headers within 20000 ms"))),
        ),
        row(
            "a hang before the first delta",
            Transient,
            Started,
            delayed(limits.first_delta, bytes(at(Phase::FirstDelta, "no text within 30000 ms"))),
        ),
        row("a cut before the first delta", Transient, Started, CallScript::Break(0, Ending::Cut)),
        row("a malformed answer", Transient, Started, CallScript::Fail(at(Phase::Body, "no JSON"))),
        row("an error behind a 200", Transient, Started, bytes(at(Phase::FirstDelta, "overloaded"))),
    ]
}

/// Every fault after three words.
fn seen() -> [(&'static str, CallScript); 4] {
    let after = |ending| CallScript::Break(3, ending);
    [
        ("a hang between two deltas", after(Ending::Hang)),
        ("a cut", after(Ending::Cut)),
        ("a malformed event", after(Ending::Fault(at(Phase::BetweenDeltas, "no JSON")))),
        ("an error event", after(Ending::Fault(at(Phase::BetweenDeltas, "overloaded")))),
    ]
}

async fn learned(chain: &Chain, row: &Row) {
    until_counted(chain, "one", 1).await;
    let status = breaker(chain, "one");
    assert_eq!((status.failure_share, status.reason), (1.0, row.reason), "{}", row.name);
    assert_eq!(status.state == BreakerState::Closed, row.reason == Reason::Started, "{}", row.name);
}

#[test]
fn before_the_first_delta_each_fault_fails_over_and_reaches_the_breaker() {
    for row in unseen() {
        test_world::run(|tree| async move {
            let (one, two) =
                (ScriptedProvider::answering(row.step.clone()), ScriptedProvider::answering(CallScript::Answer(2)));
            let chain = chain(&tree, &[&one, &two], options()).await;
            let ledger = SettlementLog::default();
            let mut streaming = chain.stream(chat_request(), ledger.entry()).await.unwrap();
            assert_eq!(
                outcomes(&streaming.attempts),
                [("one", row.outcome), ("two", AttemptOutcome::Ok)],
                "{}",
                row.name
            );
            assert_eq!(read_to_end(&mut streaming).await, (2, Some(Ok(estimated_usage(2)))), "{}", row.name);
            let settled = ledger.only();
            assert_eq!((settled.end, settled.provider_id.as_deref()), (StreamEnd::Done, Some("two")), "{}", row.name);
            learned(&chain, &row).await;
            assert_eq!(one.in_progress(), 0, "{}", row.name);
        });
    }
}

#[test]
fn without_another_provider_each_fault_is_returned_and_nothing_charged() {
    for row in unseen() {
        test_world::run(|tree| async move {
            let one = ScriptedProvider::answering(row.step.clone());
            let chain = chain(&tree, &[&one], options()).await;
            let ledger = SettlementLog::default();
            let refused = chain.stream(chat_request(), ledger.entry()).await.unwrap_err();
            let limited = row.outcome == AttemptOutcome::Throttled;
            let kind = if limited { Kind::RateLimited } else { Kind::ProviderFailed };
            assert_eq!(refused.error.kind, kind, "{}", row.name);
            assert!(refused.error.message.contains("one"), "{}: {}", row.name, refused.error.message);
            assert_eq!(outcomes(&refused.attempts), [("one", row.outcome)], "{}", row.name);
            let settled = ledger.only();
            assert_eq!((settled.end, settled.usage), (StreamEnd::Failed, Usage::default()), "{}", row.name);
            assert_eq!((settled.cost_nanos, settled.provider_id), (Some(0), None), "{}", row.name);
            learned(&chain, &row).await;
        });
    }
    for row in unseen() {
        test_world::run(|tree| async move {
            let one = ScriptedProvider::answering(row.step.clone());
            let chain = chain(&tree, &[&one], options()).await;
            let refused = chain.complete(chat_request()).await.unwrap_err();
            let limited = row.outcome == AttemptOutcome::Throttled;
            let kind = if limited { Kind::RateLimited } else { Kind::ProviderFailed };
            assert_eq!(refused.error.kind, kind, "{}", row.name);
            assert_eq!(outcomes(&refused.attempts), [("one", row.outcome)], "{}", row.name);
            learned(&chain, &row).await;
        });
    }
}

#[test]
fn after_the_first_delta_each_fault_ends_the_stream_and_reaches_the_breaker() {
    for (name, step) in seen() {
        test_world::run(|tree| async move {
            let (one, two) = (ScriptedProvider::answering(step), ScriptedProvider::answering(CallScript::Answer(1)));
            let chain = chain(&tree, &[&one, &two], options()).await;
            let ledger = SettlementLog::default();
            let mut streaming = chain.stream(chat_request(), ledger.entry()).await.unwrap();
            let (words, end) = read_to_end(&mut streaming).await;
            assert_eq!((words, end.unwrap().unwrap_err().kind), (3, Kind::ProviderFailed), "{name}");
            assert_eq!((one.in_progress(), two.calls()), (0, 0), "{name}: ended, and nothing spliced");
            let settled = ledger.only();
            assert_eq!((settled.end, settled.usage), (StreamEnd::Failed, estimated_usage(3)), "{name}");
            assert_eq!(settled.provider_id.as_deref(), Some("one"), "{name}");
            until_counted(&chain, "one", 1).await;
            assert_eq!(breaker(&chain, "one").failure_share, 1.0, "{name}");
        });
    }
}
