//! Ends subscriptions that are no longer permitted, because a feature restricted the channel or the viewer's
//! permissions changed.

use std::sync::Arc;

use super::Delivery;
use super::actor::Hub;
use super::pending::PendingRequest;
use super::subscribe::WaitingRequest;
use super::subscriptions::ConnectionKey;
use muster_core::event::ChannelRestriction;
use muster_core::principal::Viewer;

/// Reason reported when permissions no longer suffice.
const REVOKED: &str = "permission_revoked";

impl Hub {
    pub(super) fn apply_restriction(&mut self, restriction: &ChannelRestriction) {
        for connection in self.subscriptions.others(&restriction.channel, |viewer| restriction.allows(viewer)) {
            self.end(connection, &restriction.channel, restriction.reason);
        }
    }

    /// Requests a new decision from the feature for each channel of a connection that only the feature can decide on.
    pub(super) fn update_viewer(&mut self, connection: ConnectionKey, viewer: &Viewer) {
        for channel in self.subscriptions.set_viewer(connection, viewer) {
            let Some(rule) = self.resources.rules.find(&channel) else { continue };
            if rule.needs_feature_decision() {
                let until = self.started_at.elapsed() + self.limits().snapshot_patience;
                self.request_state(PendingRequest::new(
                    WaitingRequest::ChannelRestriction { connection, channel, viewer: viewer.clone() },
                    until,
                ));
            }
        }
    }

    /// Ends a subscription that the feature rejected or did not decide on; a viewer with permission subscribes again.
    pub(super) fn revoked(&mut self, connection: ConnectionKey, channel: &Arc<str>) {
        self.end(connection, channel, REVOKED);
    }

    fn end(&mut self, connection: ConnectionKey, channel: &Arc<str>, reason: &'static str) {
        if self.subscriptions.remove(channel, connection) {
            self.unpin(channel);
            let channel = Arc::clone(channel);
            self.out.push(connection.0, Delivery::Unsubscribed { conn: connection.1, channel, reason });
        }
    }
}
