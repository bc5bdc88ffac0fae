//! Requests with several models, and with their own number of retries.

use super::*;
use AttemptOutcome::{Ok as Answered, Transient};

async fn three(tree: &Tree, providers: &[&ScriptedProvider; 3]) -> Chain {
    let settings = [settings("one", &["m", "n"]), settings("two", &["m"]), settings("three", &["x"])];
    chain_of(tree, &settings, providers, options()).await
}

fn wanting(models: &[&str]) -> GatewayChatRequest {
    GatewayChatRequest { models: models.iter().map(|&model| model.to_owned()).collect(), ..chat_request() }
}

#[test]
fn a_list_is_tried_in_its_order_and_no_provider_after_it() {
    test_world::run(|tree| async move {
        let one = ScriptedProvider::answering(transient());
        let chain = three(&tree, &[&one, &one, &one]).await;
        type Row<'a> = (&'a [&'a str], &'a [(&'a str, &'a str)]);
        let rows: [Row<'_>; 4] = [
            (&["n", "m"], &[("one", "n"), ("one", "m"), ("two", "m")]),
            (&["x", "x"], &[("three", "x")]),
            // One name, or none, is followed by the rest of the chain.
            (&["x"], &[("three", "x"), ("one", "m"), ("two", "m")]),
            (&[], &[("one", "m"), ("two", "m"), ("three", "x")]),
        ];
        for (models, expected) in rows {
            let refused = chain.complete(wanting(models)).await.unwrap_err();
            let tried: Vec<_> = refused.attempts.iter().map(|a| (a.provider.as_str(), a.model.as_str())).collect();
            assert_eq!(tried, expected, "{models:?}");
        }
    });
}

#[test]
fn an_unknown_name_in_a_list_rejects_the_request_before_any_attempt() {
    test_world::run(|tree| async move {
        let one = ScriptedProvider::answering(CallScript::Answer(1));
        let chain = three(&tree, &[&one, &one, &one]).await;
        let refused = chain.complete(wanting(&["m", "mm", "n"])).await.unwrap_err();
        assert_eq!(refused.error.kind, Kind::ModelNotFound);
        assert!(refused.error.message.contains("\"mm\""), "{}", refused.error.message);
        assert_eq!(one.calls(), 0);
    });
}

#[test]
fn a_request_may_bring_its_own_retries_within_the_bound_on_attempts() {
    test_world::run(|tree| async move {
        let one = ScriptedProvider::answering(CallScript::Answer(1)).first([transient(), transient()]);
        let alone = chain(&tree, &[&one], ChainOptions { retries: 1, ..options() }).await;
        let answer = alone.complete(GatewayChatRequest { retries: Some(2), ..chat_request() }).await.unwrap();
        assert_eq!(outcomes(&answer.attempts), [("one", Transient), ("one", Transient), ("one", Answered)]);
        one.set_default(transient());
        let refused = alone.complete(GatewayChatRequest { retries: Some(0), ..chat_request() }).await.unwrap_err();
        assert_eq!(refused.attempts.len(), 1);
    });
    test_world::run(|tree| async move {
        let one = ScriptedProvider::answering(transient());
        let alone = chain(&tree, &[&one], ChainOptions { max_attempts: 3, ..options() }).await;
        let refused = alone.complete(GatewayChatRequest { retries: Some(50), ..chat_request() }).await.unwrap_err();
        assert_eq!(refused.attempts.len(), 3);
    });
}
