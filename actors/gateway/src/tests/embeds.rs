//! Embeddings through the same failover as answers.

use muster_providers::{EmbedInput, EmbedRequest};

use super::*;
use AttemptOutcome::{Ok as Answered, OpenCircuit, Throttled, Transient, Unsupported};

/// Two words, and three tokens.
fn embedding(model: &str) -> GatewayEmbedRequest {
    let inputs = vec![EmbedInput::Text("two words".to_owned()), EmbedInput::Tokens(vec![7, 8, 9])];
    GatewayEmbedRequest {
        model: Some(model.to_owned()),
        request: Arc::new(EmbedRequest { inputs, dimensions: None, user: None }),
        request_id: "req_1".to_owned(),
        traceparent: Some("00-ab-cd-01".to_owned()),
        spend: None,
    }
}

#[test]
fn embeddings_contain_usage_and_provider() {
    test_world::run(|tree| async move {
        let figures = Usage { prompt_tokens: 11, completion_tokens: 0, estimated: false };
        let one = ScriptedProvider::answering(CallScript::Answer(1)).first([CallScript::Figures(1, figures)]);
        let chain = chain(&tree, &[&one], options()).await;
        let embedded = chain.embed(embedding("m")).await.unwrap();
        assert_eq!(embedded.reply.vectors, [[0.0], [1.0]]);
        assert_eq!((embedded.provider_id.as_str(), embedded.model_id.as_str()), ("one", "m"));
        assert_eq!((embedded.usage, embedded.cost_nanos), (figures, None), "no price is known of it");
        let call = one.last_embed();
        assert_eq!((call.upstream_model.as_str(), call.request_id.as_str()), ("m", "req_1"));
        assert_eq!((call.traceparent.as_deref(), call.timeouts), (Some("00-ab-cd-01"), options().timeouts));

        let until_counted = Usage { prompt_tokens: 5, completion_tokens: 0, estimated: true };
        assert_eq!(chain.embed(embedding("m")).await.unwrap().usage, until_counted);
    });
}

#[test]
fn embeddings_are_charged_at_the_price_of_their_model() {
    test_world::run(|tree| async move {
        let catalogue = Catalogue::embedded().unwrap();
        let entry = catalogue.embeddings().iter().find(|m| m.price_in > 0.0).unwrap();
        let figures = Usage { prompt_tokens: 1_000_000, completion_tokens: 0, estimated: false };
        let one = ScriptedProvider::answering(CallScript::Figures(1, figures));
        let chain = chain_of(&tree, &[settings(&entry.provider, &[&entry.id])], &[&one], options()).await;
        // A million tokens cost the catalogue's price per million.
        let embedded = chain.embed(embedding(&entry.id)).await.unwrap();
        assert_eq!(embedded.cost_nanos, Some((entry.price_in * 1e9).round() as u64));
    });
}

#[test]
fn only_providers_of_the_model_are_called_and_each_fault_fails_over() {
    test_world::run(|tree| async move {
        let (one, two) =
            (ScriptedProvider::answering(throttled(60)), ScriptedProvider::answering(CallScript::Answer(1)));
        let other = ScriptedProvider::answering(CallScript::Answer(1));
        let settings = [settings("one", &["m"]), settings("two", &["m"]), settings("three", &["other"])];
        let chain = chain_of(&tree, &settings, &[&one, &two, &other], ChainOptions { retries: 1, ..options() }).await;
        let embedded = chain.embed(embedding("m")).await.unwrap();
        assert_eq!(outcomes(&embedded.attempts), [("one", Throttled), ("two", Answered)]);
        until_open(&chain, "one").await;

        two.set_default(transient());
        let refused = chain.embed(embedding("m")).await.unwrap_err();
        assert_eq!(refused.error.kind, Kind::ProviderFailed);
        assert_eq!(outcomes(&refused.attempts), [("one", OpenCircuit), ("two", Transient), ("two", Transient)]);
        assert_eq!(other.calls(), 0, "vectors of another model do not compare");

        let missing = chain.embed(embedding("nobody-has-it")).await.unwrap_err();
        assert_eq!((missing.error.kind, missing.attempts.len()), (Kind::ModelNotFound, 0));
    });
}

#[test]
fn a_provider_without_embeddings_does_not_count_as_failed() {
    test_world::run(|tree| async move {
        let none = ScriptedProvider::answering(CallScript::Fail(Fault::unsupported(
            "model",
            "this provider gives no embeddings",
        )));
        let chain = chain(&tree, &[&none], options()).await;
        let refused = chain.embed(embedding("m")).await.unwrap_err();
        assert_eq!(refused.error.kind, Kind::UnsupportedValue);
        assert_eq!(refused.error.fields[0].loc, ["body", "model"]);
        assert_eq!(outcomes(&refused.attempts), [("one", Unsupported)]);
        assert_eq!(breaker(&chain, "one").calls, 0);
    });
}

#[test]
fn one_deadline_bounds_embeddings_too_and_a_disconnected_client_cancels_them() {
    test_world::run(|tree| async move {
        let hung = ScriptedProvider::answering(CallScript::Hang);
        let chain = chain(&tree, &[&hung], options()).await;
        let begun = tokio::time::Instant::now();
        chain.embed(embedding("m")).await.unwrap_err();
        assert!(begun.elapsed() >= secs(60) && begun.elapsed() < secs(60) + ms(10));
        assert!(tokio::time::timeout(ms(100), chain.embed(embedding("m"))).await.is_err());
        assert_eq!((hung.calls(), hung.in_progress()), (2, 0));
    });
}

/// Futures that are spawned must be `Send`.
#[test]
fn futures_of_every_request_method_are_send() {
    fn sendable<F: Send>(future: F) {
        drop(future);
    }
    test_world::run(|tree| async move {
        let one = ScriptedProvider::answering(CallScript::Answer(1));
        let chain = chain(&tree, &[&one], options()).await;
        sendable(chain.complete(chat_request()));
        sendable(chain.stream(chat_request(), |_| ()));
        sendable(chain.embed(embedding("m")));
    });
}
