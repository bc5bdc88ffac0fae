//! The exact sliding log of a bucket: what was admitted, when, and how much of it is inside each window. Pure.
//!
//! One log serves every window: a window is a position in the log, before which everything has left it, and the sum of
//! the rest. An admission at `t` leaves a window of length `w` at exactly `t + w` (in milliseconds, the clock's
//! resolution), which provides both guarantees: no span of length `w` contains more than was allowed, and a client that
//! waits `w / limit` between its requests always finds the oldest of them gone.
//!
//! Counters for whole seconds or minutes cannot provide the second guarantee: counting the oldest interval in full
//! rejects a client that paces itself. Times are therefore kept individually, 16 bytes each, up to [`EXACT`]. Beyond
//! that, neighbours within 1/100,000 of the longest window (864 ms in a day) share an entry that leaves with the last
//! of them. Limits are still never exceeded, and a client slower than the limit by 1/100,000 is never rejected.

use std::collections::{BTreeSet, VecDeque};

use super::rule::{LimitUnit, Window};

/// Number of entries that are all exact. Limits up to this number per window are therefore exact.
pub(super) const EXACT: usize = 131_072;
/// Number of parts into which the longest window is divided beyond [`EXACT`].
const PARTS: u64 = 100_000;
/// Number of entries stored together, see `record`.
pub(super) const SEGMENT: u64 = 256;

/// An amount of each unit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Spend {
    pub(super) requests: u64,
    pub(super) tokens: u64,
}

impl Spend {
    pub(super) fn of(&self, unit: LimitUnit) -> u64 {
        match unit {
            LimitUnit::Requests => self.requests,
            LimitUnit::Tokens => self.tokens,
        }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            requests: self.requests.saturating_add(other.requests),
            tokens: self.tokens.saturating_add(other.tokens),
        }
    }

    pub(super) fn minus(self, other: Self) -> Self {
        Self {
            requests: self.requests.saturating_sub(other.requests),
            tokens: self.tokens.saturating_sub(other.tokens),
        }
    }

    pub(super) fn times(self, count: u64) -> Self {
        Self { requests: self.requests.saturating_mul(count), tokens: self.tokens.saturating_mul(count) }
    }

    pub(super) fn least(self, other: Self) -> Self {
        Self { requests: self.requests.min(other.requests), tokens: self.tokens.min(other.tokens) }
    }

    /// Returns whether both units are at most those of `other`.
    pub(super) fn within(&self, other: &Self) -> bool {
        self.requests <= other.requests && self.tokens <= other.tokens
    }
}

/// Amounts admitted at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Event {
    /// Milliseconds since the epoch.
    pub(super) at: u64,
    pub(super) requests: u32,
    pub(super) tokens: u32,
}

impl Event {
    fn spend(&self) -> Spend {
        Spend { requests: self.requests.into(), tokens: self.tokens.into() }
    }
}

/// Position of a window in the log.
#[derive(Debug, Clone, Copy)]
struct View {
    window: Window,
    /// Number of the first event inside.
    head: u64,
    /// Sum of the events inside.
    inside: Spend,
}

/// The log. Its events are numbered from 0; `first` is the number of the oldest one kept.
#[derive(Debug, Default)]
pub(super) struct EventLog {
    events: VecDeque<Event>,
    first: u64,
    views: Vec<View>,
    /// Time at which each unit was last charged.
    latest: [u64; 2],
    /// Segments changed since they were last taken for storing.
    dirty: BTreeSet<u64>,
}

impl EventLog {
    /// Restores a log, including the windows it was watching.
    pub(super) fn restore(first: u64, events: VecDeque<Event>, windows: &[Window], now: u64) -> Self {
        let mut log = Self { first, ..Self::default() };
        for event in &events {
            log.note_latest(event.spend(), event.at);
        }
        log.events = events;
        log.hold_to_clock(now);
        for &window in windows {
            log.watch(window, now);
        }
        log
    }

    /// Removes what has left the windows. Must be called with the current time before any query or charge.
    pub(super) fn advance(&mut self, now: u64) {
        self.hold_to_clock(now);
        for view in &mut self.views {
            let skip = usize::try_from(view.head.saturating_sub(self.first)).unwrap_or(usize::MAX);
            for event in self.events.iter().skip(skip).take_while(|event| event.at + view.window.millis() <= now) {
                view.head += 1;
                view.inside = view.inside.minus(event.spend());
            }
        }
        self.trim();
    }

    /// Handles a clock that was set back: events ahead of it happened by now at the latest, so they leave a window's
    /// length from now.
    fn hold_to_clock(&mut self, now: u64) {
        let ahead = self.events.iter().rev().take_while(|event| event.at > now).count();
        if ahead == 0 {
            return;
        }
        for event in self.events.iter_mut().rev().take(ahead) {
            event.at = now;
        }
        self.latest = self.latest.map(|at| at.min(now));
        self.dirty.extend((self.next() - ahead as u64) / SEGMENT..=(self.next() - 1) / SEGMENT);
    }

    fn trim(&mut self) {
        let Some(keep) = self.views.iter().map(|view| view.head).min() else { return };
        while self.first < keep && self.events.pop_front().is_some() {
            self.first += 1;
        }
        let oldest = self.first / SEGMENT;
        while self.dirty.first().is_some_and(|&segment| segment < oldest) {
            self.dirty.pop_first();
        }
        if self.events.is_empty() && self.events.capacity() > 64 {
            self.events = VecDeque::new();
        }
    }

    /// Starts counting a window, including what the log still contains of it.
    pub(super) fn watch(&mut self, window: Window, now: u64) {
        if self.views.iter().any(|view| view.window == window) {
            return;
        }
        let gone = self.events.partition_point(|event| event.at + window.millis() <= now);
        let inside = self.events.iter().skip(gone).fold(Spend::default(), |sum, event| sum.plus(event.spend()));
        self.views.push(View { window, head: self.first + gone as u64, inside });
    }

    /// Charges at `now`, which must not be before the last call of `advance`. Returns the number of the event.
    pub(super) fn push(&mut self, now: u64, requests: u32, tokens: u32) -> u64 {
        let charged = Spend { requests: requests.into(), tokens: tokens.into() };
        for view in &mut self.views {
            view.inside = view.inside.plus(charged);
        }
        self.note_latest(charged, now);
        if !self.merge(now, requests, tokens) {
            self.events.push_back(Event { at: now, requests, tokens });
        }
        let number = self.next() - 1;
        self.dirty.insert(number / SEGMENT);
        number
    }

    /// Adds to the newest event if that loses nothing, or if the log is too long.
    fn merge(&mut self, now: u64, requests: u32, tokens: u32) -> bool {
        let grain = if self.events.len() < EXACT { 1 } else { (self.longest() / PARTS).max(1) };
        let Some(last) = self.events.back_mut().filter(|last| last.at / grain == now / grain) else { return false };
        match (last.requests.checked_add(requests), last.tokens.checked_add(tokens)) {
            (Some(requests), Some(tokens)) => *last = Event { at: now, requests, tokens },
            _ => return false,
        }
        true
    }

    fn note_latest(&mut self, charged: Spend, at: u64) {
        let [requests, tokens] = &mut self.latest;
        if charged.requests > 0 {
            *requests = at;
        }
        if charged.tokens > 0 {
            *tokens = at;
        }
    }

    /// Refunds part of what was charged at an event; what has left every window cannot be refunded.
    pub(super) fn refund(&mut self, number: u64, amount: Spend) {
        let Some(place) = number.checked_sub(self.first).and_then(|place| usize::try_from(place).ok()) else { return };
        let Some(event) = self.events.get_mut(place) else { return };
        let amount = amount.least(event.spend());
        // Both fit: neither exceeds the event's own amount.
        event.requests -= u32::try_from(amount.requests).unwrap_or(0);
        event.tokens -= u32::try_from(amount.tokens).unwrap_or(0);
        for view in self.views.iter_mut().filter(|view| view.head <= number) {
            view.inside = view.inside.minus(amount);
        }
        self.dirty.insert(number / SEGMENT);
    }

    /// Returns the amount of a unit inside a watched window.
    pub(super) fn used(&self, unit: LimitUnit, window: Window) -> u64 {
        self.view(window).map_or(0, |view| view.inside.of(unit))
    }

    /// Returns when at least `amount` will have left a window; `None` if it contains less.
    pub(super) fn frees(&self, unit: LimitUnit, window: Window, amount: u64) -> Option<u64> {
        let mut left = 0_u64;
        self.inside(window).find_map(|event| {
            left = left.saturating_add(event.spend().of(unit));
            (left >= amount).then(|| event.at + window.millis())
        })
    }

    /// Returns when a window will be empty; `None` if it is.
    pub(super) fn full_again(&self, unit: LimitUnit, window: Window) -> Option<u64> {
        let [requests, tokens] = self.latest;
        let latest = match unit {
            LimitUnit::Requests => requests,
            LimitUnit::Tokens => tokens,
        };
        (self.used(unit, window) > 0).then(|| latest + window.millis())
    }

    fn view(&self, window: Window) -> Option<&View> {
        self.views.iter().find(|view| view.window == window)
    }

    fn inside(&self, window: Window) -> impl Iterator<Item = &Event> {
        let head = self.view(window).map_or(u64::MAX, |view| view.head);
        self.events.iter().skip(usize::try_from(head.saturating_sub(self.first)).unwrap_or(usize::MAX))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    pub(super) fn windows(&self) -> impl Iterator<Item = Window> {
        self.views.iter().map(|view| view.window)
    }

    fn longest(&self) -> u64 {
        self.windows().map(Window::millis).max().unwrap_or(0)
    }

    /// Returns the time from which nothing counts any more.
    pub(super) fn over_at(&self) -> u64 {
        self.events.back().map_or(0, |event| event.at + self.longest())
    }

    /// Returns the time of the newest event; 0 if there is none.
    pub(super) fn newest_at(&self) -> u64 {
        self.events.back().map_or(0, |event| event.at)
    }

    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// Returns the number of the next event.
    pub(super) fn next(&self) -> u64 {
        self.first + self.events.len() as u64
    }

    pub(super) fn is_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// Removes and returns the changed segments.
    pub(super) fn take_dirty(&mut self) -> BTreeSet<u64> {
        std::mem::take(&mut self.dirty)
    }

    /// Marks segments as changed again, because storing them failed.
    pub(super) fn put_back_dirty(&mut self, segments: BTreeSet<u64>) {
        let oldest = self.first / SEGMENT;
        self.dirty.extend(segments.into_iter().filter(|&segment| segment >= oldest));
    }

    /// Returns the number of a segment's first event that is still kept, and its events.
    pub(super) fn segment(&self, segment: u64) -> (u64, impl Iterator<Item = Event>) {
        let from = (segment * SEGMENT).max(self.first);
        let until = (segment + 1) * SEGMENT;
        let skip = usize::try_from(from - self.first).unwrap_or(usize::MAX);
        let take = usize::try_from(until.saturating_sub(from)).unwrap_or(0);
        (from, self.events.iter().skip(skip).take(take).copied())
    }
}
