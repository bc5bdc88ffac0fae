//! That credentials changed, told to whoever let a device in for longer than one request.

use std::hash::{BuildHasher, RandomState};

use tokio::sync::watch;

/// Devices share their bells: ten thousand sockets are not woken by every change, and nothing is kept for each device.
const BELLS: usize = 1_024;

/// Bells of the devices. One that rings for another device is no harm: whoever hears it looks.
#[derive(Debug)]
pub(super) struct Changes {
    bells: Vec<watch::Sender<()>>,
    hasher: RandomState,
}

impl Changes {
    pub(super) fn new() -> Self {
        Self { bells: (0..BELLS).map(|_| watch::Sender::new(())).collect(), hasher: RandomState::new() }
    }

    /// Hears of every change from now on.
    pub(super) fn follow(&self, device: &str) -> Option<watch::Receiver<()>> {
        self.bell(device).map(watch::Sender::subscribe)
    }

    /// The device's credentials are others now: what is published shows it already.
    pub(super) fn tell(&self, device: &str) {
        if let Some(bell) = self.bell(device) {
            bell.send_replace(());
        }
    }

    /// Everything was read anew.
    pub(super) fn tell_all(&self) {
        for bell in &self.bells {
            bell.send_replace(());
        }
    }

    fn bell(&self, device: &str) -> Option<&watch::Sender<()>> {
        let hash = self.hasher.hash_one(device);
        self.bells.get(usize::try_from(hash % BELLS as u64).ok()?)
    }
}
