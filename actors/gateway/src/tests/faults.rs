//! The matrix of faults: what the caller sees of each, what the breaker learns, what is settled.
//!
//! The faults are as the adapters class them; that they do is tested where the adapters are.

use super::*;

struct Row {
    name: &'static str,
    act: Act,
    outcome: AttemptOutcome,
    /// The breaker after it.
    reason: Reason,
}

fn row(name: &'static str, outcome: AttemptOutcome, reason: Reason, act: Act) -> Row {
    Row { name, act, outcome, reason }
}

fn at(phase: Phase, words: &str) -> Fault {
    Fault::transient(phase, words)
}

/// Everything that can go wrong before there is anything to show.
fn unseen() -> Vec<Row> {
    use AttemptOutcome::{Hard, Throttled, Transient};
    use Reason::{Rejected, Started};
    let limits = options().timeouts;
    let unauthorized = Fault { status: Some(401), ..Fault::new(FaultClass::Hard, Phase::Headers, "bad key") };
    let bytes = |fault| Act::Break(0, Ending::Fault(fault));
    vec![
        row("500", Transient, Started, transient()),
        row("429", Throttled, Reason::Throttled, throttled(9)),
        row("401", Hard, Rejected, Act::Fail(unauthorized)),
        row("connection refused", Transient, Started, Act::Fail(at(Phase::Connect, "connection refused"))),
        row(
            "a hang before the headers",
            Transient,
            Started,
            late(limits.headers, Act::Fail(at(Phase::Headers, "no headers within 20000 ms"))),
        ),
        row(
            "a hang before the first delta",
            Transient,
            Started,
            late(limits.first_delta, bytes(at(Phase::FirstDelta, "no text within 30000 ms"))),
        ),
        row("a cut before the first delta", Transient, Started, Act::Break(0, Ending::Cut)),
        row("a malformed answer", Transient, Started, Act::Fail(at(Phase::Body, "no JSON"))),
        row("an error behind a 200", Transient, Started, bytes(at(Phase::FirstDelta, "overloaded"))),
    ]
}

/// Everything that can go wrong after three words.
fn seen() -> [(&'static str, Act); 4] {
    let after = |ending| Act::Break(3, ending);
    [
        ("a hang between two deltas", after(Ending::Hang)),
        ("a cut", after(Ending::Cut)),
        ("a malformed event", after(Ending::Fault(at(Phase::BetweenDeltas, "no JSON")))),
        ("an error event", after(Ending::Fault(at(Phase::BetweenDeltas, "overloaded")))),
    ]
}

async fn learned(chain: &Chain, row: &Row) {
    counted(chain, "one", 1).await;
    let status = breaker(chain, "one");
    assert_eq!((status.failure_share, status.reason), (1.0, row.reason), "{}", row.name);
    assert_eq!(status.state == BreakerState::Closed, row.reason == Reason::Started, "{}", row.name);
}

#[test]
fn before_the_first_delta_each_fault_is_replaced_and_told_to_the_breaker() {
    for row in unseen() {
        test_world::run(|tree| async move {
            let (one, two) = (Double::always(row.act.clone()), Double::always(Act::Answer(2)));
            let chain = chain(&tree, &[&one, &two], options()).await;
            let ledger = Ledger::default();
            let mut streaming = chain.stream(ask(), ledger.entry()).await.unwrap();
            assert_eq!(tried(&streaming.attempts), [("one", row.outcome), ("two", AttemptOutcome::Ok)], "{}", row.name);
            assert_eq!(read(&mut streaming).await, (2, Some(Ok(estimated(2)))), "{}", row.name);
            let settled = ledger.only();
            assert_eq!((settled.end, settled.provider_id.as_deref()), (StreamEnd::Done, Some("two")), "{}", row.name);
            learned(&chain, &row).await;
            assert_eq!(one.open(), 0, "{}", row.name);
        });
    }
}

#[test]
fn where_there_is_no_other_each_fault_is_told_and_nothing_charged() {
    for row in unseen() {
        test_world::run(|tree| async move {
            let one = Double::always(row.act.clone());
            let chain = chain(&tree, &[&one], options()).await;
            let ledger = Ledger::default();
            let refused = chain.stream(ask(), ledger.entry()).await.unwrap_err();
            assert_eq!(refused.error.kind, Kind::ProviderFailed, "{}", row.name);
            assert!(refused.error.message.contains("one"), "{}: {}", row.name, refused.error.message);
            assert_eq!(tried(&refused.attempts), [("one", row.outcome)], "{}", row.name);
            let settled = ledger.only();
            assert_eq!((settled.end, settled.usage), (StreamEnd::Failed, Usage::default()), "{}", row.name);
            assert_eq!((settled.cost_nanos, settled.provider_id), (Some(0), None), "{}", row.name);
            learned(&chain, &row).await;
        });
    }
    for row in unseen() {
        test_world::run(|tree| async move {
            let one = Double::always(row.act.clone());
            let chain = chain(&tree, &[&one], options()).await;
            let refused = chain.complete(ask()).await.unwrap_err();
            assert_eq!(refused.error.kind, Kind::ProviderFailed, "{}", row.name);
            assert_eq!(tried(&refused.attempts), [("one", row.outcome)], "{}", row.name);
            learned(&chain, &row).await;
        });
    }
}

#[test]
fn after_the_first_delta_each_fault_ends_the_stream_and_is_told_to_the_breaker() {
    for (name, act) in seen() {
        test_world::run(|tree| async move {
            let (one, two) = (Double::always(act), Double::always(Act::Answer(1)));
            let chain = chain(&tree, &[&one, &two], options()).await;
            let ledger = Ledger::default();
            let mut streaming = chain.stream(ask(), ledger.entry()).await.unwrap();
            let (words, end) = read(&mut streaming).await;
            assert_eq!((words, end.unwrap().unwrap_err().kind), (3, Kind::ProviderFailed), "{name}");
            assert_eq!((one.open(), two.calls()), (0, 0), "{name}: ended, and nothing spliced");
            let settled = ledger.only();
            assert_eq!((settled.end, settled.usage), (StreamEnd::Failed, estimated(3)), "{name}");
            assert_eq!(settled.provider_id.as_deref(), Some("one"), "{name}");
            counted(&chain, "one", 1).await;
            assert_eq!(breaker(&chain, "one").failure_share, 1.0, "{name}");
        });
    }
}
