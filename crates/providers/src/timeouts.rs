//! Time limits of provider calls.

use std::time::Duration;

/// Time limits of each phase of one call. Keep-alives and empty deltas do not count as progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// To establish the connection.
    pub connect: Duration,
    /// From the end of the request to the response headers.
    pub headers: Duration,
    /// From the headers to the first content delta (to the whole body if not streamed).
    pub first_delta: Duration,
    /// Between content deltas.
    pub between_deltas: Duration,
}

/// Time limits of one provider or model that differ from the general ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimeoutOverrides {
    /// See [`Timeouts::connect`].
    pub connect: Option<Duration>,
    /// See [`Timeouts::headers`].
    pub headers: Option<Duration>,
    /// See [`Timeouts::first_delta`].
    pub first_delta: Option<Duration>,
    /// See [`Timeouts::between_deltas`].
    pub between_deltas: Option<Duration>,
}

impl Timeouts {
    /// Returns these limits with those that `overrides` sets instead.
    #[must_use]
    pub fn with(self, overrides: &TimeoutOverrides) -> Self {
        Self {
            connect: overrides.connect.unwrap_or(self.connect),
            headers: overrides.headers.unwrap_or(self.headers),
            first_delta: overrides.first_delta.unwrap_or(self.first_delta),
            between_deltas: overrides.between_deltas.unwrap_or(self.between_deltas),
        }
    }
}
