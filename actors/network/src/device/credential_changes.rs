//! Notification of credential changes to connections that stay authenticated for longer than one request.

use std::hash::{BuildHasher, RandomState};

use tokio::sync::watch;

/// Number of channels, shared by all devices: ten thousand sockets are not woken by every change, and nothing is kept
/// for each device.
const CHANNELS: usize = 1_024;

/// Channels of credential changes. A receiver may be woken by the change of another device, so it has to check.
#[derive(Debug)]
pub(super) struct CredentialChanges {
    channels: Vec<watch::Sender<()>>,
    hasher: RandomState,
}

impl CredentialChanges {
    pub(super) fn new() -> Self {
        Self { channels: (0..CHANNELS).map(|_| watch::Sender::new(())).collect(), hasher: RandomState::new() }
    }

    /// Subscribes to changes from now on.
    pub(super) fn subscribe(&self, device: &str) -> Option<watch::Receiver<()>> {
        self.channel(device).map(watch::Sender::subscribe)
    }

    /// Notifies that the credentials of a device have changed; the directory already shows the change.
    pub(super) fn notify(&self, device: &str) {
        if let Some(channel) = self.channel(device) {
            channel.send_replace(());
        }
    }

    /// Notifies all receivers, because all records were read anew.
    pub(super) fn notify_all(&self) {
        for channel in &self.channels {
            channel.send_replace(());
        }
    }

    fn channel(&self, device: &str) -> Option<&watch::Sender<()>> {
        let hash = self.hasher.hash_one(device);
        self.channels.get(usize::try_from(hash % CHANNELS as u64).ok()?)
    }
}
