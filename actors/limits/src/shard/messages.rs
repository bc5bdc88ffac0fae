//! What a shard is asked, and what it answers.

use std::sync::Arc;
use std::time::Duration;

use actix::dev::{MessageResponse, OneshotSender};
use actix::{Actor, Message};
use tokio::sync::oneshot;

use crate::bucket::Estimate;
use crate::rule::Rule;
use crate::subject::BucketKey;
use crate::view::LimitView;
use muster_core::Error;

/// May this request pass? All its rules are checked, and none is charged unless all pass.
#[derive(Debug, Clone)]
pub struct Admit {
    pub key: BucketKey,
    pub rules: Arc<[Rule]>,
    /// What the call is thought to cost; only judged where a rule counts tokens.
    pub estimate: Estimate,
    /// After so long the reservation counts as settled at its estimate: the request's time limit and 10 s.
    pub hold_for: Duration,
}

/// The answer.
#[derive(Debug)]
pub enum Decision {
    Admitted {
        view: LimitView,
        /// To be settled or released, where tokens were reserved.
        reservation: Option<Reservation>,
    },
    Refused {
        view: LimitView,
        /// Whole seconds, at least 1: the longest wait of the rules that refused. Where a rule's limit is too small
        /// for the request it is the window's length, and no wait will help: compare `which.limit`.
        retry_after: Duration,
        /// The rule with the longest wait.
        which: Rule,
    },
}

/// Tokens charged by estimate, to be replaced by what was spent.
///
/// Dropping it keeps the estimate: what a vanished handler spent is not known.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "settle or release it, else its estimate stands"]
pub struct Reservation {
    pub(crate) key: BucketKey,
    pub(crate) id: u64,
    pub(crate) tokens: u64,
}

impl Reservation {
    /// How many tokens were reserved: the estimate, clipped to what was left. A call that spends more than this is
    /// charged for it all the same, so generate no more than this less the prompt.
    pub fn tokens(&self) -> u64 {
        self.tokens
    }
}

/// What a reserved call did spend.
#[derive(Debug)]
pub(crate) struct Settle {
    pub(crate) reservation: Reservation,
    pub(crate) tokens: u64,
}

/// How do these rules stand? Charges nothing.
#[derive(Debug)]
pub(crate) struct Peek {
    pub(crate) key: BucketKey,
    pub(crate) rules: Arc<[Rule]>,
}

impl Message for Admit {
    type Result = Result<Decision, Error>;
}

impl Message for Peek {
    type Result = Result<LimitView, Error>;
}

/// An answer at once, or when the disk has it. The second costs a task, the first nothing.
#[derive(Debug)]
pub enum Reply<T> {
    Now(Result<T, Error>),
    Later(oneshot::Receiver<Result<T, Error>>),
}

impl<T: Send + 'static> Reply<T> {
    /// Sends the answer on, now or later. An actor that dies first drops the sender, and the caller sees it as down.
    pub(crate) fn forward(self, to: oneshot::Sender<Result<T, Error>>) {
        match self {
            // A caller that no longer waits is no error.
            Self::Now(answer) => drop(to.send(answer)),
            Self::Later(answer) => drop(actix_rt::spawn(async move {
                if let Ok(answer) = answer.await {
                    let _ = to.send(answer);
                }
            })),
        }
    }
}

impl<A, M, T> MessageResponse<A, M> for Reply<T>
where
    A: Actor,
    M: Message<Result = Result<T, Error>>,
    T: Send + 'static,
{
    fn handle(self, _: &mut A::Context, to: Option<OneshotSender<Result<T, Error>>>) {
        if let Some(to) = to {
            self.forward(to);
        }
    }
}
