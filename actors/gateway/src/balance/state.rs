//! The order in which the providers of one model are tried, and the moving average of their latency. Pure: time and
//! randomness are arguments.

use std::time::Duration;

/// How the providers of one model share its requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Balance {
    /// The first provider of the chain answers; the next ones only if it cannot.
    #[default]
    Order,
    /// Requests are distributed at random, in proportion to the weights of the providers.
    Weight,
    /// The less loaded of two providers drawn at random answers (Mitzenmacher 2001, "The Power of Two Choices in
    /// Randomized Load Balancing"). The load is the peak-sensitive moving average of its latency, times the calls in
    /// progress and this one, as in Finagle and linkerd.
    Latency,
}

/// What a latency measures. Both are not comparable, so that each has an average of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum LatencyKind {
    /// Time to a complete answer.
    #[default]
    Complete,
    /// Time to the first content of a stream.
    FirstContent,
}

/// A provider of the model, as the balance sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Standing {
    /// Share of the requests; 0 takes none while another provider can.
    pub(crate) weight: u32,
    /// Whether its circuit breaker admits a call.
    pub(crate) ready: bool,
    /// Load, of no unit: only compared.
    pub(crate) load: f64,
}

/// Returns the places of the providers in the order in which to try them: those that are not ready come last, in their
/// present order. `draw` returns random numbers in `0..1`.
pub(crate) fn arranged(balance: Balance, standings: &[Standing], mut draw: impl FnMut() -> f64) -> Vec<usize> {
    let of = |ready: bool| standings.iter().enumerate().filter(move |(_, standing)| standing.ready == ready);
    let ready: Vec<(usize, Standing)> = of(true).map(|(place, standing)| (place, *standing)).collect();
    let mut order = match balance {
        Balance::Order => ready.iter().map(|(place, _)| *place).collect(),
        Balance::Weight => by_weight(ready, &mut draw),
        Balance::Latency => by_load(ready, &mut draw),
    };
    order.extend(of(false).map(|(place, _)| place));
    order
}

/// Draws one after the other in proportion to the weights, those of weight 0 last: after a failure, the others share in
/// the same proportion.
fn by_weight(mut left: Vec<(usize, Standing)>, draw: &mut impl FnMut() -> f64) -> Vec<usize> {
    let mut order = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let total: u64 = left.iter().map(|(_, standing)| u64::from(standing.weight)).sum();
        let mut point = draw() * total as f64;
        let drawn = left.iter().position(|(_, standing)| {
            point -= f64::from(standing.weight);
            standing.weight > 0 && point < 0.0
        });
        // Without a weight, the present order.
        order.push(left.remove(drawn.unwrap_or(0)).0);
    }
    order
}

/// The less loaded of two drawn at random, then the others from the least loaded on.
fn by_load(mut ready: Vec<(usize, Standing)>, draw: &mut impl FnMut() -> f64) -> Vec<usize> {
    let count = ready.len();
    let mut pick = |among: usize| ((draw() * among as f64) as usize).min(among.saturating_sub(1));
    let first = match count {
        0 | 1 => None,
        _ => {
            let one = pick(count);
            // Another one than the first, each with the same probability.
            let other = (one + 1 + pick(count - 1)) % count;
            let load = |place: usize| ready.get(place).map_or(f64::INFINITY, |(_, standing)| standing.load);
            Some(if load(other) < load(one) { other } else { one })
        }
    };
    let first = first.map(|place| ready.remove(place).0);
    ready.sort_by(|(_, one), (_, other)| one.load.total_cmp(&other.load));
    first.into_iter().chain(ready.into_iter().map(|(place, _)| place)).collect()
}

/// Time in which an unused average falls to 1/e, so that a provider that was slow is tried again.
const DECAY: Duration = Duration::from_secs(30);
/// Added to the latency of a failed call: a provider that fails quickly is not a quick one.
pub(crate) const FAILURE_PENALTY: Duration = Duration::from_secs(10);

/// Moving average of a latency that follows a rise at once and a fall slowly.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct PeakEwma {
    /// Milliseconds.
    pub(crate) average: f32,
    /// When it was measured last.
    pub(crate) at: Duration,
}

impl PeakEwma {
    /// Returns the average with one more latency.
    #[must_use]
    pub(crate) fn with(self, latency: Duration, now: Duration) -> Self {
        let latency = latency.as_secs_f32() * 1000.0;
        let average = match latency >= self.average {
            true => latency,
            false => {
                let kept = self.weight(now);
                self.average * kept + latency * (1.0 - kept)
            }
        };
        Self { average, at: now }
    }

    /// Returns the average as of now; it falls towards zero while nothing is measured.
    pub(crate) fn now(self, now: Duration) -> f32 {
        self.average * self.weight(now)
    }

    fn weight(self, now: Duration) -> f32 {
        (-now.saturating_sub(self.at).div_duration_f32(DECAY)).exp()
    }
}
