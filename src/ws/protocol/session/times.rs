//! Handles the passing of time in a session. Pure.

use std::sync::Arc;

use muster_core::Millis;

use super::{Effect, Peer, Phase, Session, outbound};
use crate::ws::Close;
use crate::ws::protocol::fault::{Fault, FaultKind};

impl Session {
    /// Returns when the session next has something to do. It may be called earlier.
    pub fn next(&self) -> Option<Millis> {
        let options = &self.options;
        let by_phase = match &self.phase {
            Phase::Closed => return None,
            Phase::Waiting { until } | Phase::Checking { until, .. } => *until,
            Phase::Live(live) if live.warned => live.client.exp.plus(options.expiry_grace),
            Phase::Live(live) => Millis(live.client.exp.0.saturating_sub(millis(options.expiry_warning))),
        };
        let patience = self.pending.values().map(|(_, at)| at.plus(options.patience)).min();
        let positions = self.filtered().next().map(|_| self.positions_at);
        [Some(by_phase), Some(self.ping_at), self.pong_by, patience, positions].into_iter().flatten().min()
    }

    /// Handles the present time.
    pub fn on_tick(&mut self, now: Millis) -> Vec<Effect> {
        if self.is_closed() {
            return Vec::new();
        }
        if let Some(close) = self.ends(now) {
            return self.close(close);
        }
        let mut out = self.warned(now);
        if now >= self.ping_at {
            out.push(Effect::Ping);
            self.ping_at = now.plus(self.options.heartbeat);
            if self.peer == Peer::Socket && self.pong_by.is_none() {
                self.pong_by = Some(now.plus(self.options.answer_within));
            }
        }
        if now >= self.positions_at {
            self.positions_at = now.plus(self.options.positions);
            let filtered: Vec<_> = self.filtered().cloned().collect();
            if !filtered.is_empty() {
                out.push(Effect::Positions(filtered));
            }
        }
        let late = |at: Millis| now >= at.plus(self.options.patience);
        let late: Vec<_> = self.pending.iter().filter(|(_, (_, at))| late(*at)).map(|(tag, _)| *tag).collect();
        for tag in late {
            let fault = Fault::new(FaultKind::Unavailable, "no answer in time: try again");
            out.extend(self.refused(tag, &fault, now));
        }
        out
    }

    fn ends(&self, now: Millis) -> Option<Close> {
        match &self.phase {
            Phase::Waiting { until } | Phase::Checking { until, .. } if now >= *until => Some(Close::ConnectTimeout),
            Phase::Live(live) if now >= live.client.exp.plus(self.options.expiry_grace) => Some(Close::TokenExpired),
            Phase::Live(_) if self.pong_by.is_some_and(|by| now >= by) => Some(Close::NoPong),
            _ => None,
        }
    }

    fn warned(&mut self, now: Millis) -> Vec<Effect> {
        let warning = millis(self.options.expiry_warning);
        let Phase::Live(live) = &mut self.phase else { return Vec::new() };
        let left = live.client.exp.0.saturating_sub(now.0);
        if live.warned || left > warning {
            return Vec::new();
        }
        live.warned = true;
        vec![Effect::Send(outbound::expiring(left.div_ceil(1000)))]
    }

    fn filtered(&self) -> impl Iterator<Item = &Arc<str>> {
        self.subs.iter().filter(|(_, sub)| sub.confirmed && sub.filter.is_some()).map(|(channel, _)| channel)
    }
}

fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
