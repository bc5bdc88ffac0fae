//! The latest login attempts, for the sentinels. They are kept in memory only, and for an hour.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Duration;

use muster_core::Millis;

/// Attempts that are kept; the oldest give way.
const CAPACITY: usize = 10_000;
/// Time for which an attempt is kept.
const KEPT: Duration = Duration::from_secs(3_600);

/// A login attempt on an existing account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecentLogin {
    /// Time of the attempt.
    pub at: Millis,
    /// Identifier of the account.
    pub user_id: String,
    /// Client address as the server saw it.
    pub ip: IpAddr,
    /// Whether a session was opened.
    pub succeeded: bool,
    /// Header `User-Agent`, of a login that succeeded.
    pub user_agent: Option<String>,
}

/// The attempts, oldest first.
#[derive(Debug, Default)]
pub(crate) struct LoginLog(VecDeque<RecentLogin>);

impl LoginLog {
    /// Notes an attempt, as a failure until [`LoginLog::succeeded`].
    pub(super) fn attempted(&mut self, user_id: &str, ip: IpAddr, at: Millis) {
        self.forget(at);
        if self.0.len() >= CAPACITY {
            self.0.pop_front();
        }
        self.0.push_back(RecentLogin { at, user_id: user_id.to_owned(), ip, succeeded: false, user_agent: None });
    }

    /// Notes that the latest attempt on this account from this address succeeded.
    pub(super) fn succeeded(&mut self, user_id: &str, ip: Option<IpAddr>, user_agent: Option<&str>) {
        let is_it = |login: &&mut RecentLogin| !login.succeeded && login.user_id == user_id && Some(login.ip) == ip;
        if let Some(login) = self.0.iter_mut().rev().find(is_it) {
            login.succeeded = true;
            login.user_agent = user_agent.map(str::to_owned);
        }
    }

    /// Returns the attempts of the last hour, oldest first.
    pub(super) fn recent(&mut self, now: Millis) -> Vec<RecentLogin> {
        self.forget(now);
        self.0.iter().cloned().collect()
    }

    fn forget(&mut self, now: Millis) {
        while self.0.front().is_some_and(|login| now.since(login.at) >= KEPT) {
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u64 = 3_600_000;

    fn ip(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    #[test]
    fn an_attempt_is_a_failure_until_a_session_is_opened_from_its_address() {
        let mut log = LoginLog::default();
        log.attempted("usr_a", ip(1), Millis(1));
        log.attempted("usr_a", ip(2), Millis(2));
        log.attempted("usr_b", ip(1), Millis(3));
        log.succeeded("usr_a", Some(ip(1)), Some("curl"));
        let found: Vec<_> = log.recent(Millis(4)).into_iter().map(|login| (login.at.0, login.succeeded)).collect();
        assert_eq!(found, [(1, true), (2, false), (3, false)]);
        assert_eq!(log.recent(Millis(4))[0].user_agent.as_deref(), Some("curl"));
    }

    #[test]
    fn attempts_are_forgotten_after_an_hour_and_beyond_the_capacity() {
        let mut log = LoginLog::default();
        log.attempted("usr_a", ip(1), Millis(0));
        assert_eq!(log.recent(Millis(HOUR - 1)).len(), 1);
        assert_eq!(log.recent(Millis(HOUR)), []);
        for at in 0..CAPACITY as u64 + 5 {
            log.attempted("usr_a", ip(1), Millis(HOUR + at));
        }
        let kept = log.recent(Millis(HOUR + CAPACITY as u64 + 5));
        assert_eq!((kept.len(), kept[0].at), (CAPACITY, Millis(HOUR + 5)));
    }
}
