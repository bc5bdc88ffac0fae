//! Who may no longer follow a channel: by a feature's word, or because what one may has changed.

use std::sync::Arc;

use super::Delivery;
use super::actor::Hub;
use super::asks::Asked;
use super::subscribe::Waiting;
use super::subscriptions::Seat;
use muster_core::event::ChannelRestriction;
use muster_core::principal::Viewer;

/// What is told to those whose rights do not reach any more.
const REVOKED: &str = "permission_revoked";

impl Hub {
    pub(super) fn review(&mut self, review: &ChannelRestriction) {
        for seat in self.subscriptions.others(&review.channel, |viewer| review.allows(viewer)) {
            self.end(seat, &review.channel, review.reason);
        }
    }

    /// Of each channel that only its feature can judge, that is asked again.
    pub(super) fn looks_anew(&mut self, seat: Seat, viewer: &Viewer) {
        for channel in self.subscriptions.seen_by(seat, viewer) {
            let Some(rule) = self.parts.rules.find(&channel) else { continue };
            if rule.needs_a_word() {
                let until = self.born.elapsed() + self.limits().snapshot_patience;
                self.ask(Asked::new(Waiting::ChannelRestriction { seat, channel, viewer: viewer.clone() }, until));
            }
        }
    }

    /// The feature says no, or nothing: whoever may after all subscribes again.
    pub(super) fn revoked(&mut self, seat: Seat, channel: &Arc<str>) {
        self.end(seat, channel, REVOKED);
    }

    fn end(&mut self, seat: Seat, channel: &Arc<str>, reason: &'static str) {
        if self.subscriptions.remove(channel, seat) {
            self.unpin(channel);
            let channel = Arc::clone(channel);
            self.out.push(seat.0, Delivery::Unsubscribed { conn: seat.1, channel, reason });
        }
    }
}
