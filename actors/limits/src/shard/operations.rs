//! The operations of a shard, each on a bucket that may have to be read first.

use std::sync::Arc;
use std::time::Duration;

use actix::{Context, Handler};
use tokio::sync::oneshot;

use super::messages::{AdmissionPart, Admit, Decision, Peek, Reply, Report, Reservation, Settle};
use super::{Entry, RateShard};
use crate::account::Account;
use crate::bucket::Estimate;
use crate::log::Spend;
use crate::published::BUSY_MILLIS;
use crate::rule::{LimitUnit, Rule};
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
        account.withdraw_allowances();
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
        account.withdraw_allowances();
        Reply::Now(Ok(account.bucket.view(&self.rules, now)))
    }
}

impl RateShard {
    /// Processes what was reported since the last decision.
    pub(super) fn take_reports(&mut self) {
        while let Some(report) = self.reports.pop() {
            match report {
                Report::Taken(taken) => {
                    let now = self.now();
                    if let Some(account) = self.account(&taken.allowance.key) {
                        account.used_at = now;
                        account.take(&taken);
                    }
                    if self.draining {
                        self.renew(&taken.allowance.key);
                    }
                }
                // A settlement of a bucket that cannot be read keeps its estimate.
                Report::Settled(settle) => drop(self.run(settle)),
            }
        }
    }

    /// Grants an allowance after a request, if the subject's previous one was a moment ago.
    fn grant_allowance(&mut self, key: BucketKey, rules: Arc<[Rule]>, estimate: Estimate) {
        if self.draining || !self.allowances.is_free_for(&key, |there| there.key == key) {
            return;
        }
        let has = |unit| rules.iter().any(|rule| rule.unit == unit);
        // Rounded up, for requests that are a little larger.
        let most = estimate.most().checked_next_power_of_two().unwrap_or(u64::MAX);
        let tokens = if has(LimitUnit::Tokens) && estimate.most() > 0 { most } else { 0 };
        let each = Spend { requests: u64::from(has(LimitUnit::Requests)), tokens };
        let now = self.now();
        let Some(account) = self.account(&key) else { return };
        if let Some(allowance) = account.grant_allowance(key.clone(), rules, each, now) {
            self.allowances.publish(&key, allowance);
            self.granted.insert(key.clone());
            self.renew(&key);
        }
    }

    /// Withdraws the allowances that are over. Their subjects ask again.
    pub(super) fn end_allowances(&mut self) {
        let now = self.now();
        for key in self.granted.iter().cloned().collect::<Vec<_>>() {
            if self.account(&key).is_none_or(|account| account.end_allowances(now)) {
                self.allowances.remove(&key, |there| there.key == key);
                self.granted.remove(&key);
            }
        }
    }

    /// Withdraws all allowances, before exact writes.
    pub(super) fn withdraw_all(&mut self) {
        for key in std::mem::take(&mut self.granted) {
            self.allowances.remove(&key, |there| there.key == key);
            if let Some(account) = self.account(&key) {
                account.withdraw_allowances();
            }
        }
        self.take_reports();
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
        self.take_reports();
        let now = self.now();
        // Another caller's request may have led to an allowance while this one was on its way.
        if let Some((taken, decision)) = self.allowances.take(&admit, now) {
            self.reports.push(Report::Taken(taken));
            return Reply::Now(Ok(decision));
        }
        let whole = admit.part == AdmissionPart::Whole;
        let busy =
            whole && self.account(&admit.key).is_some_and(|account| now < account.used_at.saturating_add(BUSY_MILLIS));
        let terms = busy.then(|| (admit.key.clone(), Arc::clone(&admit.rules), admit.estimate));
        let reply = self.run(admit);
        if let Some((key, rules, estimate)) = terms
            && matches!(reply, Reply::Now(Ok(Decision::Admitted { .. })))
        {
            self.grant_allowance(key, rules, estimate);
        }
        reply
    }
}

impl Handler<Peek> for RateShard {
    type Result = Reply<LimitView>;

    fn handle(&mut self, peek: Peek, _: &mut Context<Self>) -> Reply<LimitView> {
        self.take_reports();
        self.run(peek)
    }
}
