//! Content of a complete answer: the outgoing call, usage, cost.

use super::*;

#[test]
fn the_call_contains_the_names_of_the_request() {
    test_world::run(|tree| async move {
        let one = ScriptedProvider::answering(CallScript::Answer(1));
        let chain = chain(&tree, &[&one], options()).await;
        let request = GatewayChatRequest { traceparent: Some("00-ab-cd-01".to_owned()), ..chat_request() };
        chain.complete(request).await.unwrap();
        let call = one.last_call();
        assert_eq!((call.upstream_model.as_str(), call.request_id.as_str()), ("m", "req_1"));
        assert_eq!(call.traceparent.as_deref(), Some("00-ab-cd-01"));
        assert_eq!(call.timeouts, options().timeouts);
    });
}

#[test]
fn usage_reported_by_the_provider_is_used_and_otherwise_counted() {
    test_world::run(|tree| async move {
        let figures = Usage { prompt_tokens: 11, completion_tokens: 7, estimated: false };
        let one = ScriptedProvider::answering(CallScript::Answer(4)).first([CallScript::Figures(4, figures)]);
        let chain = chain(&tree, &[&one], options()).await;
        let answer = chain.complete(chat_request()).await.unwrap();
        assert_eq!((answer.usage, answer.cost_nanos), (figures, None), "no price is known of it");
        let until_counted = Usage { prompt_tokens: 3, completion_tokens: 4, estimated: true };
        assert_eq!(chain.complete(chat_request()).await.unwrap().usage, until_counted);
    });
}

#[test]
fn the_cost_is_the_usage_at_the_models_price() {
    test_world::run(|tree| async move {
        let catalogue = Catalogue::embedded().unwrap();
        let entry = catalogue.models().iter().find(|m| m.upstream.is_some() && m.price_in > 0.0).unwrap();
        let figures = Usage { prompt_tokens: 1_000_000, completion_tokens: 0, estimated: false };
        let one = ScriptedProvider::answering(CallScript::Figures(1, figures));
        let chain = chain_of(&tree, &[settings(&entry.provider, &[&entry.id])], &[&one], options()).await;
        let answer =
            chain.complete(GatewayChatRequest { models: vec![entry.id.clone()], ..chat_request() }).await.unwrap();
        // A million tokens cost the catalogue's price per million.
        assert_eq!(answer.cost_nanos, Some((entry.price_in * 1e9).round() as u64));
        assert_eq!(answer.model_id, entry.id);
    });
}
