//! The exact sliding log of one bucket: what was admitted, when, and how much of it each window still holds. Pure.
//!
//! One log serves every window: a window is a place in the log before which all has left it, and the sum of the rest.
//! An admission at `t` leaves a window of length `w` at `t + w`, no sooner and no later (to the millisecond, the clock's
//! resolution), which gives both promises: no span of length `w` holds more than was allowed, and a client that keeps
//! `w / limit` between its requests always finds the oldest of them gone.
//!
//! Buckets of whole seconds or minutes cannot give the second: counting the oldest bucket whole refuses a client that
//! paces itself. So times are kept one by one, 16 bytes each, up to [`EXACT`]; beyond that neighbours within 1/100,000
//! of the longest window (864 ms in a day) share an entry that leaves with the last of them. Still nothing is admitted
//! too much, and a client 1/100,000 slower than the limit is never refused.

use std::collections::{BTreeSet, VecDeque};

use super::rule::{Unit, Window};

/// Entries that are all exact. Limits up to this many per window are therefore exact.
pub(super) const EXACT: usize = 131_072;
/// Into how many parts the longest window is divided for what goes beyond [`EXACT`].
const PARTS: u64 = 100_000;
/// Entries stored together, see `record`.
pub(super) const SEGMENT: u64 = 256;

/// An amount of each unit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Spend {
    pub(super) requests: u64,
    pub(super) tokens: u64,
}

impl Spend {
    pub(super) fn of(&self, unit: Unit) -> u64 {
        match unit {
            Unit::Requests => self.requests,
            Unit::Tokens => self.tokens,
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

    pub(super) fn least(self, other: Self) -> Self {
        Self { requests: self.requests.min(other.requests), tokens: self.tokens.min(other.tokens) }
    }

    /// No more than `other` in either unit.
    pub(super) fn within(&self, other: &Self) -> bool {
        self.requests <= other.requests && self.tokens <= other.tokens
    }
}

/// What was admitted at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Event {
    /// Milliseconds since the epoch. Never later than when it happened is known to have been over.
    pub(super) at: u64,
    pub(super) requests: u32,
    pub(super) tokens: u32,
}

impl Event {
    fn spend(&self) -> Spend {
        Spend { requests: self.requests.into(), tokens: self.tokens.into() }
    }
}

/// One window's place in the log.
#[derive(Debug, Clone, Copy)]
struct View {
    window: Window,
    /// The first event inside, by its number.
    head: u64,
    /// The sum of the events inside.
    inside: Spend,
}

/// The log. Its events are numbered from 0 for ever; `first` is the number of the oldest one kept.
#[derive(Debug, Default)]
pub(super) struct EventLog {
    events: VecDeque<Event>,
    first: u64,
    views: Vec<View>,
    /// When each unit was last charged.
    latest: [u64; 2],
    /// Segments changed since they were last taken for storing.
    dirty: BTreeSet<u64>,
}

impl EventLog {
    /// A log read back. Windows that had been watched are watched again.
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

    /// Lets leave what is past. To be called with the present time before anything is asked or charged.
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

    /// A clock that was set back: what happened did so by now at the latest, so it leaves one window from now.
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

    /// Keeps count of a window from now on; what the log still holds of it counts.
    pub(super) fn watch(&mut self, window: Window, now: u64) {
        if self.views.iter().any(|view| view.window == window) {
            return;
        }
        let gone = self.events.partition_point(|event| event.at + window.millis() <= now);
        let inside = self.events.iter().skip(gone).fold(Spend::default(), |sum, event| sum.plus(event.spend()));
        self.views.push(View { window, head: self.first + gone as u64, inside });
    }

    /// Charges at `now`, not before the last call of `advance`. The number of the event that holds it.
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

    /// Adds to the newest event where that loses nothing, or where the log has become too long.
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

    /// Takes back part of what was charged at an event; what has left every window is not there to be taken back.
    pub(super) fn refund(&mut self, number: u64, amount: Spend) {
        let Some(place) = number.checked_sub(self.first).and_then(|place| usize::try_from(place).ok()) else { return };
        let Some(event) = self.events.get_mut(place) else { return };
        let amount = amount.least(event.spend());
        // Both fit: neither is more than the event's own.
        event.requests -= u32::try_from(amount.requests).unwrap_or(0);
        event.tokens -= u32::try_from(amount.tokens).unwrap_or(0);
        for view in self.views.iter_mut().filter(|view| view.head <= number) {
            view.inside = view.inside.minus(amount);
        }
        self.dirty.insert(number / SEGMENT);
    }

    /// How much of a unit a watched window holds.
    pub(super) fn used(&self, unit: Unit, window: Window) -> u64 {
        self.view(window).map_or(0, |view| view.inside.of(unit))
    }

    /// When at least `amount` of what a window holds will have left it; `None` where it holds less.
    pub(super) fn frees(&self, unit: Unit, window: Window, amount: u64) -> Option<u64> {
        let mut left = 0_u64;
        self.inside(window).find_map(|event| {
            left = left.saturating_add(event.spend().of(unit));
            (left >= amount).then(|| event.at + window.millis())
        })
    }

    /// When all that a window holds will have left it; `None` where it is empty.
    pub(super) fn full_again(&self, unit: Unit, window: Window) -> Option<u64> {
        let [requests, tokens] = self.latest;
        let latest = match unit {
            Unit::Requests => requests,
            Unit::Tokens => tokens,
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

    /// From when on nothing of it counts.
    pub(super) fn over_at(&self) -> u64 {
        self.events.back().map_or(0, |event| event.at + self.longest())
    }

    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// The number that the next event will have.
    pub(super) fn next(&self) -> u64 {
        self.first + self.events.len() as u64
    }

    pub(super) fn is_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// The segments changed since this was last asked.
    pub(super) fn take_dirty(&mut self) -> BTreeSet<u64> {
        std::mem::take(&mut self.dirty)
    }

    /// Segments that could not be stored after all.
    pub(super) fn put_back_dirty(&mut self, segments: BTreeSet<u64>) {
        let oldest = self.first / SEGMENT;
        self.dirty.extend(segments.into_iter().filter(|&segment| segment >= oldest));
    }

    /// The number of a segment's first event still kept, and its events.
    pub(super) fn segment(&self, segment: u64) -> (u64, impl Iterator<Item = Event>) {
        let from = (segment * SEGMENT).max(self.first);
        let until = (segment + 1) * SEGMENT;
        let skip = usize::try_from(from - self.first).unwrap_or(usize::MAX);
        let take = usize::try_from(until.saturating_sub(from)).unwrap_or(0);
        (from, self.events.iter().skip(skip).take(take).copied())
    }
}
