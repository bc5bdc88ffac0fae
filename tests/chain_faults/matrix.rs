//! The matrix: each provider's wire, each fault, each dialect, whole and streamed, with and without a healthy provider
//! next in the chain: what the client receives, what the breaker records, what is charged.

use futures::future::join_all;

use super::faults::{BreakerExpectation, Fault, FaultTiming, RETRY_AFTER};
use super::fixture::{ChainFixture, Fallback};
use super::support::client::{Answer, Events};
use super::support::dialect::{Chat, ChatOutput};
use super::support::wire::Wire;

/// One cell of the matrix. Each cell has a separate server, so that breaker state of one does not affect another.
#[derive(Debug, Clone, Copy)]
struct MatrixCell {
    wire: Wire,
    fault: Fault,
    chat: Chat,
    streamed: bool,
    fallback: Fallback,
}

async fn row(wire: Wire, fault: Fault) {
    for fallback in [Fallback::None, Fallback::Healthy] {
        let combinations = Chat::EVERY.into_iter().flat_map(|chat| [(chat, false), (chat, true)]);
        let fields = combinations.map(|(chat, streamed)| MatrixCell { wire, fault, chat, streamed, fallback });
        join_all(fields.map(MatrixCell::check)).await;
    }
}

impl MatrixCell {
    async fn check(self) {
        let fixture = ChainFixture::start(self.wire, self.fault.first(self.wire), self.fallback, &self.fault.chain());
        match (self.fault.timing(self.streamed), self.fallback) {
            (FaultTiming::BeforeContent, Fallback::None) => self.check_rejected(&fixture).await,
            (FaultTiming::BeforeContent, Fallback::Healthy) => self.check_failed_over(&fixture).await,
            (FaultTiming::AfterTen, _) => self.check_stream_error(&fixture).await,
        }
        self.check_breaker(&fixture).await;
        self.check_ledger(&fixture).await;
    }

    async fn stream(self, fixture: &ChainFixture) -> Events {
        self.chat.stream(&fixture.client(), "alpha").await
    }

    async fn check_rejected(self, fixture: &ChainFixture) {
        let Self { chat, .. } = self;
        let body =
            if self.streamed { chat.streaming_request_body("alpha", "hi") } else { chat.request_body("alpha", "hi") };
        let got: Answer = fixture.client().post(chat.path(), &body).await;
        let throttled = self.fault == Fault::Throttled;
        let (status, code) =
            if throttled { (429, "rate_limit_exceeded") } else { (chat.provider_failure_status(), "provider_failed") };
        assert_eq!(got.status, status, "{self:?}: {}", got.text);
        assert!(got.header("content-type").unwrap().starts_with("application/json"), "{self:?}");
        assert_eq!(chat.code(&got.json()), chat.expected_code(code), "{self:?}");
        let wait = got.number("retry-after").unwrap_or_else(|| panic!("{self:?}: no Retry-After"));
        // A throttled provider's own value is passed on.
        assert!(if throttled { wait == RETRY_AFTER } else { wait >= 1 }, "{self:?}: {wait}");
        assert_eq!(fixture.second.requests(), 0, "{self:?}: it is not in the chain");
    }

    /// The client receives a normal answer; only the agent dialect lists the attempts.
    async fn check_failed_over(self, fixture: &ChainFixture) {
        let Self { chat, .. } = self;
        let agent = chat == Chat::Agent;
        let attempts = || {
            vec![
                ("one".to_owned(), self.fault.expected_breaker().class.to_owned()),
                ("two".to_owned(), "ok".to_owned()),
            ]
        };
        let expected = ChatOutput {
            text: "hello there".to_owned(),
            model: "beta".to_owned(),
            provider: agent.then(|| "two".to_owned()),
            attempts: agent.then(attempts),
            // Token counts of the upstream: 7 of the prompt, 2 of the answer.
            tokens: 9,
            finish: (chat != Chat::A).then(|| "stop".to_owned()),
        };
        if self.streamed {
            let mut events = self.stream(fixture).await;
            assert_eq!(events.status, 200, "{self:?}");
            let chat_output = chat.streamed(&mut events).await;
            assert_eq!(chat_output.deltas.concat(), "hello there", "{self:?}");
            assert_eq!((chat_output.done, chat_output.error), (Some(expected), None), "{self:?}");
            assert!(events.whole, "{self:?}");
        } else {
            let got = chat.post(&fixture.client(), "alpha").await;
            assert_eq!(got.status, 200, "{self:?}: {}", got.text);
            assert_eq!(chat.output(&got.json()), expected, "{self:?}");
        }
        assert_eq!(fixture.second.requests(), 1, "{self:?}");
    }

    /// Nothing is repeated or spliced: the ten deltas, an error, no normal end, whether or not a fallback exists.
    async fn check_stream_error(self, fixture: &ChainFixture) {
        let Self { chat, .. } = self;
        let mut events = self.stream(fixture).await;
        assert_eq!(events.status, 200, "{self:?}");
        let chat_output = chat.streamed(&mut events).await;
        let expected: String = (0..10).map(|n| format!("w{n} ")).collect();
        assert_eq!(chat_output.deltas.concat(), expected, "{self:?}");
        assert_eq!(chat_output.done, None, "{self:?}");
        let error = chat_output.error.unwrap_or_else(|| panic!("{self:?}: no error event"));
        assert_eq!(chat.code(&error), chat.expected_code("provider_failed"), "{self:?}");
        assert!(events.whole, "{self:?}: after an error event the response ends normally");
        assert_eq!(fixture.second.requests(), 0, "{self:?}");
    }

    async fn check_breaker(self, fixture: &ChainFixture) {
        let BreakerExpectation { class, state, reason } = self.fault.expected_breaker();
        let breaker = fixture.breaker_after_call("one").await;
        assert_eq!((&breaker["calls"], &breaker["failure_share"]), (&1.into(), &1.0.into()), "{self:?}: {breaker}");
        assert_eq!(breaker["last_fault"]["class"], class, "{self:?}: {breaker}");
        assert_eq!((&breaker["state"], &breaker["reason"]), (&state.into(), &reason.into()), "{self:?}: {breaker}");
        assert!(breaker["last_success_at"].is_null(), "{self:?}: {breaker}");
        assert_eq!(breaker["cooldown_until"].is_null(), state == "closed", "{self:?}: {breaker}");
        if fixture.second.requests() > 0 {
            let other = fixture.breaker_after_call("two").await;
            assert_eq!(
                (&other["failure_share"], &other["state"]),
                (&0.0.into(), &"closed".into()),
                "{self:?}: {other}"
            );
        }
    }

    /// Each call has one ledger line, whatever its outcome: no charge for a call without output, the provider's figures
    /// for a complete answer, and for an interrupted stream what was delivered of it.
    async fn check_ledger(self, fixture: &ChainFixture) {
        let report = fixture.usage_after_call().await;
        let lines = report["usage"].as_array().unwrap();
        // A call that may have run at the provider without an answer is charged for its prompt beside the request's line.
        let (requests, abandoned): (Vec<_>, Vec<_>) = lines.iter().partition(|line| line["requests"] != 0);
        let [line] = requests[..] else { panic!("{self:?}: {report}") };
        let before = self.fault.timing(self.streamed) == FaultTiming::BeforeContent;
        let charged = before && self.fault.may_have_run();
        let prompts = abandoned.iter().map(|line| line["prompt_tokens"].as_u64().unwrap()).sum::<u64>();
        match self.fallback {
            Fallback::Healthy => assert_eq!(prompts > 0, charged, "{self:?}: {report}"),
            Fallback::None => assert!(abandoned.is_empty(), "{self:?}: the same model's line: {report}"),
        }
        let number = |name: &str| line[name].as_u64().unwrap();
        let tokens = (number("prompt_tokens"), number("completion_tokens"));
        assert_eq!((number("requests"), number("cancelled")), (1, 0), "{self:?}: {line}");
        match (self.fault.timing(self.streamed), self.fallback) {
            (FaultTiming::BeforeContent, Fallback::None) => {
                assert_eq!(number("failed"), 1, "{self:?}: {line}");
                // What may have been produced until the time-out is an estimate.
                assert!(tokens.1 == 0 || charged, "{self:?}: {line}");
                assert_eq!(tokens.0 > 0, charged, "{self:?}: {line}");
                // The model has no price.
                assert_eq!(line["cost_usd"], 0.0, "{self:?}: {line}");
            }
            (FaultTiming::BeforeContent, Fallback::Healthy) => {
                assert_eq!((number("failed"), tokens), (0, (7, 2)), "{self:?}: {line}");
                assert_eq!((&line["model"], number("estimated_requests")), (&"beta".into(), 0), "{self:?}: {line}");
            }
            (FaultTiming::AfterTen, _) => {
                assert_eq!((number("failed"), &line["model"]), (1, &"alpha".into()), "{self:?}: {line}");
                // Counted by the server, since the provider sent no figures: 30 characters, of four to a token by the
                // coarsest count, one by the finest.
                assert_eq!(number("estimated_requests"), 1, "{self:?}: {line}");
                assert!(tokens.0 > 0 && (7..=30).contains(&tokens.1), "{self:?}: {line}");
            }
        }
    }
}

macro_rules! matrix {
    ($($name:ident => $fault:ident;)*) => {
        matrix!(@wire openai OpenAi: $($name $fault)*);
        matrix!(@wire anthropic Anthropic: $($name $fault)*);
        matrix!(@wire gemini Gemini: $($name $fault)*);
    };
    (@wire $module:ident $wire:ident: $($name:ident $fault:ident)*) => {
        mod $module {
            use super::{Fault, Wire, row};

            $(#[tokio::test]
            async fn $name() {
                row(Wire::$wire, Fault::$fault).await;
            })*
        }
    };
}

matrix! {
    status_500 => Status500;
    throttled_with_retry_after => Throttled;
    our_key_is_refused => KeyRefused;
    connection_refused => ConnectionRefused;
    hangs_before_headers => HangsBeforeHeaders;
    hangs_before_the_first_content => HangsBeforeContent;
    hangs_between_deltas => HangsBetweenDeltas;
    cut_before_the_first_content => CutBeforeContent;
    cut_after_ten_deltas => CutAfterTen;
    malformed => Malformed;
    malformed_after_ten_deltas => MalformedAfterTen;
    success_and_then_an_error => ErrorAtOnce;
    an_error_after_ten_deltas => ErrorAfterTen;
}
