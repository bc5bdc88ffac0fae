//! Messages of a shard and its replies.

use std::sync::Arc;
use std::time::Duration;

use actix::dev::{MessageResponse, OneshotSender};
use actix::{Actor, Message};
use tokio::sync::oneshot;

use crate::allowance::Taken;
use crate::bucket::Estimate;
use crate::rule::Rule;
use crate::subject::BucketKey;
use crate::view::LimitView;
use muster_core::Error;

/// An admission request. All its rules are checked, and none is charged unless all admit it.
#[derive(Debug, Clone)]
pub struct Admit {
    /// The bucket.
    pub key: BucketKey,
    /// The rules to check.
    pub rules: Arc<[Rule]>,
    /// Estimated usage of the call; only used if a rule counts tokens.
    pub estimate: Estimate,
    /// Time after which the reservation is treated as settled at its estimate: the request's time limit plus 10 s.
    pub hold_for: Duration,
}

/// The decision about a request.
#[derive(Debug)]
pub enum Decision {
    /// The request is admitted and charged.
    Admitted {
        /// State of the rules after the charge.
        view: LimitView,
        /// To be settled, if tokens were reserved.
        reservation: Option<Reservation>,
    },
    /// The request is rejected and not charged.
    Refused {
        /// State of the rules.
        view: LimitView,
        /// Whole seconds, at least 1: the longest wait of the rejecting rules. If a rule's limit is too small for the
        /// request it is the window's length, and waiting does not help: compare with `which.limit`.
        retry_after: Duration,
        /// The rule with the longest wait.
        which: Rule,
    },
}

/// Tokens charged by estimate, to be replaced by the actual usage.
///
/// Dropping it keeps the estimate: the usage of a handler that ended early is unknown.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "settle it, or its estimate remains charged"]
pub struct Reservation {
    pub(crate) key: BucketKey,
    pub(crate) id: u64,
    pub(crate) tokens: u64,
}

impl Reservation {
    /// Returns the number of reserved tokens: the estimate, limited to what was available. Usage beyond it is charged
    /// as well, so generate at most this number minus the prompt.
    pub fn tokens(&self) -> u64 {
        self.tokens
    }
}

/// The actual usage of a call with a reservation.
#[derive(Debug)]
pub(crate) struct Settle {
    pub(crate) reservation: Reservation,
    pub(crate) tokens: u64,
}

/// What the shard processes before its next decision, without being woken.
#[derive(Debug)]
pub(crate) enum Report {
    /// An admission of an allowance was taken.
    Taken(Taken),
    /// A call with a reservation has ended.
    Settled(Settle),
}

/// Requests the state of rules, without charging them.
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

/// A reply that is sent immediately, or when the charge is durable. The latter costs a task, the former nothing.
#[derive(Debug)]
pub(crate) enum Reply<T> {
    /// The reply is available.
    Now(Result<T, Error>),
    /// The reply is sent once the charge is durable.
    Later(oneshot::Receiver<Result<T, Error>>),
}

impl<T: Send + 'static> Reply<T> {
    /// Sends the reply, now or later. If the actor dies first, the sender is dropped and the caller gets an error.
    pub(crate) fn forward(self, to: oneshot::Sender<Result<T, Error>>) {
        match self {
            // The caller may no longer wait.
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
