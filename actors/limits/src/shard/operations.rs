//! The operations of a shard, each on a bucket that may have to be read first.

use std::time::Duration;

use actix::{Context, Handler};
use tokio::sync::oneshot;

use super::messages::{Admit, Decision, Peek, Reply, Reservation, Settle};
use super::{Entry, RateShard};
use crate::account::Account;
use crate::subject::BucketKey;
use crate::view::LimitView;
use muster_core::{Error, Kind};

/// Maximum number of admissions of one bucket that wait for the disk.
const MAX_WAITING: usize = 1_024;

/// An operation on a bucket.
trait Operation: Send + 'static {
    type Out: Send + 'static;
    fn key(&self) -> &BucketKey;
    fn run(self, account: &mut Account, now: u64) -> Reply<Self::Out>;
}

impl Operation for Admit {
    type Out = Decision;

    fn key(&self) -> &BucketKey {
        &self.key
    }

    fn run(self, account: &mut Account, now: u64) -> Reply<Decision> {
        if account.waiting() >= MAX_WAITING {
            let error = Error::new(Kind::Unavailable, "too many requests of this key wait for the disk: try again");
            return Reply::Now(Err(error.retry_in(Duration::from_secs(1))));
        }
        match account.bucket.admit(&self.rules, self.part, self.estimate, self.hold_for, now) {
            Ok(charge) => {
                let view = account.bucket.view(&self.rules, now);
                let tokens = charge.spend.tokens;
                let reservation = charge.hold.map(|id| Reservation { key: self.key, id, tokens });
                account.acknowledge(&self.rules, charge, Decision::Admitted { view, reservation })
            }
            Err(refusal) => Reply::Now(Ok(Decision::Refused {
                view: account.bucket.view(&self.rules, now),
                retry_after: Duration::from_secs(refusal.wait.div_ceil(1000).max(1)),
                which: refusal.rule,
            })),
        }
    }
}

impl Operation for Settle {
    type Out = ();

    fn key(&self) -> &BucketKey {
        &self.reservation.key
    }

    /// Replies immediately: the tokens are consumed whether or not that is durable; a crash keeps the estimate.
    fn run(self, account: &mut Account, now: u64) -> Reply<()> {
        let more = account.bucket.settle(self.reservation.id, self.tokens, now);
        account.charged(more);
        Reply::Now(Ok(()))
    }
}

impl Operation for Peek {
    type Out = LimitView;

    fn key(&self) -> &BucketKey {
        &self.key
    }

    fn run(self, account: &mut Account, now: u64) -> Reply<LimitView> {
        Reply::Now(Ok(account.bucket.view(&self.rules, now)))
    }
}

impl RateShard {
    /// Processes the settlements queued since the last decision.
    pub(super) fn take_settled(&mut self) {
        while let Some(settle) = self.settled.pop() {
            // A settlement of a bucket that cannot be read keeps its estimate.
            drop(self.run(settle));
        }
    }

    fn run<J: Operation>(&mut self, operation: J) -> Reply<J::Out> {
        let now = self.now();
        match self.entries.get_mut(operation.key()) {
            Some(Entry::Ready(account)) => {
                account.used_at = now;
                account.leaving = false;
                let (key, category) = (operation.key(), operation.key().category);
                let pool = if key.subject.is_stored() {
                    &mut self.principals
                } else {
                    self.anonymous.entry(category).or_default()
                };
                account.place = pool.touch(account.place);
                // Only a stored bucket has to be looked up again.
                let key = account.durable.is_some().then(|| operation.key().clone());
                let reply = operation.run(account, now);
                if let Some(key) = key {
                    self.renew(&key);
                }
                reply
            }
            Some(Entry::Loading(deferred)) => {
                let (to, answer) = oneshot::channel();
                deferred.push(Box::new(move |shard| match shard {
                    Ok(shard) => shard.run(operation).forward(to),
                    Err(error) => drop(to.send(Err(error))),
                }));
                Reply::Later(answer)
            }
            None => match self.open(operation.key(), now) {
                Ok(()) => self.run(operation),
                Err(error) => Reply::Now(Err(error)),
            },
        }
    }
}

impl Handler<Admit> for RateShard {
    type Result = Reply<Decision>;

    fn handle(&mut self, admit: Admit, _: &mut Context<Self>) -> Reply<Decision> {
        self.take_settled();
        self.run(admit)
    }
}

impl Handler<Peek> for RateShard {
    type Result = Reply<LimitView>;

    fn handle(&mut self, peek: Peek, _: &mut Context<Self>) -> Reply<LimitView> {
        self.take_settled();
        self.run(peek)
    }
}
