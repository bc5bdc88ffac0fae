//! The matrix: each provider's wire, each fault, each dialect, whole and streamed, with nobody behind the provider and
//! with a healthy one: what the client sees, what the breaker learns, what is charged.

use futures::future::join_all;

use super::faults::{Fault, Lesson, RETRY_AFTER, Shows};
use super::house::{Behind, House};
use super::support::client::{Answer, Events};
use super::support::dialect::{Chat, Said};
use super::support::wire::Wire;

/// One field of the matrix; each has a server of its own, so that nothing learned in another is in the way.
#[derive(Debug, Clone, Copy)]
struct Field {
    wire: Wire,
    fault: Fault,
    chat: Chat,
    streamed: bool,
    behind: Behind,
}

async fn row(wire: Wire, fault: Fault) {
    for behind in [Behind::Nobody, Behind::Healthy] {
        let ways = Chat::EVERY.into_iter().flat_map(|chat| [(chat, false), (chat, true)]);
        let fields = ways.map(|(chat, streamed)| Field { wire, fault, chat, streamed, behind });
        join_all(fields.map(Field::check)).await;
    }
}

impl Field {
    async fn check(self) {
        let house = House::start(self.wire, self.fault.first(self.wire), self.behind, &self.fault.chain());
        match (self.fault.shows(self.streamed), self.behind) {
            (Shows::BeforeContent, Behind::Nobody) => self.is_refused(&house).await,
            (Shows::BeforeContent, Behind::Healthy) => self.is_answered_by_the_other(&house).await,
            (Shows::AfterTen, _) => self.breaks_off_honestly(&house).await,
        }
        self.breaker_learns(&house).await;
        self.ledger_says(&house).await;
    }

    async fn stream(self, house: &House) -> Events {
        self.chat.stream(&house.client(), "alpha").await
    }

    async fn is_refused(self, house: &House) {
        let Self { chat, .. } = self;
        let body = if self.streamed { chat.ask_streamed("alpha", "hi") } else { chat.ask("alpha", "hi") };
        let got: Answer = house.client().post(chat.path(), &body).await;
        assert_eq!(got.status, chat.failed(), "{self:?}: {}", got.text);
        assert!(got.header("content-type").unwrap().starts_with("application/json"), "{self:?}");
        assert_eq!(chat.code(&got.json()), chat.spelled("provider_failed"), "{self:?}");
        let wait = got.number("retry-after").unwrap_or_else(|| panic!("{self:?}: no Retry-After"));
        // A throttled provider's own figure is handed on.
        assert!(if self.fault == Fault::Throttled { wait == RETRY_AFTER } else { wait >= 1 }, "{self:?}: {wait}");
        assert_eq!(house.second.requests(), 0, "{self:?}: it is not in the chain");
    }

    /// As if nothing was: only the agent dialect tells who was tried.
    async fn is_answered_by_the_other(self, house: &House) {
        let Self { chat, .. } = self;
        let agent = chat == Chat::Agent;
        let attempts =
            || vec![("one".to_owned(), self.fault.lesson().class.to_owned()), ("two".to_owned(), "ok".to_owned())];
        let expected = Said {
            text: "hello there".to_owned(),
            model: "beta".to_owned(),
            provider: agent.then(|| "two".to_owned()),
            attempts: agent.then(attempts),
            // What the upstream said: 7 of the prompt, 2 of the answer.
            tokens: 9,
            finish: (chat != Chat::A).then(|| "stop".to_owned()),
        };
        if self.streamed {
            let mut events = self.stream(house).await;
            assert_eq!(events.status, 200, "{self:?}");
            let said = chat.streamed(&mut events).await;
            assert_eq!(said.deltas.concat(), "hello there", "{self:?}");
            assert_eq!((said.done, said.error), (Some(expected), None), "{self:?}");
            assert!(events.whole, "{self:?}");
        } else {
            let got = chat.post(&house.client(), "alpha").await;
            assert_eq!(got.status, 200, "{self:?}: {}", got.text);
            assert_eq!(chat.said(&got.json()), expected, "{self:?}");
        }
        assert_eq!(house.second.requests(), 1, "{self:?}");
    }

    /// Nothing is repeated or spliced: the ten deltas, an honest error, no proper end, whoever stands behind.
    async fn breaks_off_honestly(self, house: &House) {
        let Self { chat, .. } = self;
        let mut events = self.stream(house).await;
        assert_eq!(events.status, 200, "{self:?}");
        let said = chat.streamed(&mut events).await;
        let expected: String = (0..10).map(|n| format!("w{n} ")).collect();
        assert_eq!(said.deltas.concat(), expected, "{self:?}");
        assert_eq!(said.done, None, "{self:?}");
        let error = said.error.unwrap_or_else(|| panic!("{self:?}: no error was told"));
        assert_eq!(chat.code(&error), chat.spelled("provider_failed"), "{self:?}");
        assert!(events.whole, "{self:?}: after an honest error the response ends as it should");
        assert_eq!(house.second.requests(), 0, "{self:?}");
    }

    async fn breaker_learns(self, house: &House) {
        let Lesson { class, state, reason } = self.fault.lesson();
        let learned = house.learned("one").await;
        assert_eq!((&learned["calls"], &learned["failure_share"]), (&1.into(), &1.0.into()), "{self:?}: {learned}");
        assert_eq!(learned["last_fault"]["class"], class, "{self:?}: {learned}");
        assert_eq!((&learned["state"], &learned["reason"]), (&state.into(), &reason.into()), "{self:?}: {learned}");
        assert!(learned["last_success_at"].is_null(), "{self:?}: {learned}");
        assert_eq!(learned["cooldown_until"].is_null(), state == "closed", "{self:?}: {learned}");
        if house.second.requests() > 0 {
            let other = house.learned("two").await;
            assert_eq!(
                (&other["failure_share"], &other["state"]),
                (&0.0.into(), &"closed".into()),
                "{self:?}: {other}"
            );
        }
    }

    /// One line for each call, however it ended: nothing is owed for one that brought nothing, the provider's figures
    /// for a whole answer, and for a stream that broke off what was delivered of it.
    async fn ledger_says(self, house: &House) {
        let report = house.entered().await;
        let [line] = &report["usage"].as_array().unwrap()[..] else { panic!("{self:?}: {report}") };
        let number = |name: &str| line[name].as_u64().unwrap();
        let tokens = (number("prompt_tokens"), number("completion_tokens"));
        assert_eq!((number("requests"), number("cancelled")), (1, 0), "{self:?}: {line}");
        match (self.fault.shows(self.streamed), self.behind) {
            (Shows::BeforeContent, Behind::Nobody) => {
                assert_eq!((number("failed"), tokens), (1, (0, 0)), "{self:?}: {line}");
                assert_eq!(line["cost_usd"], 0.0, "{self:?}: {line}");
            }
            (Shows::BeforeContent, Behind::Healthy) => {
                assert_eq!((number("failed"), tokens), (0, (7, 2)), "{self:?}: {line}");
                assert_eq!((&line["model"], number("estimated_requests")), (&"beta".into(), 0), "{self:?}: {line}");
            }
            (Shows::AfterTen, _) => {
                assert_eq!((number("failed"), &line["model"]), (1, &"alpha".into()), "{self:?}: {line}");
                // Counted here, as no figures came: 30 characters, of four to a token by the coarsest count, one by
                // the finest.
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
