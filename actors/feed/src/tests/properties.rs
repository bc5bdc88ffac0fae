//! Any interleaving of publications, time, restarts and resumptions yields exactly what was missed, or the right
//! reason.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use muster_core::Millis;
use muster_core::event::{DropPolicy, EventAttributes, Priority};
use proptest::prelude::*;

use crate::channel::Channel;
use crate::epoch::Epochs;
use crate::histories::{Histories, Pool};
use crate::*;

#[derive(Debug, Clone)]
enum Action {
    Publish {
        channel: usize,
        bytes: usize,
    },
    Pass(u64),
    /// Restores everything from the journal.
    Restart,
    /// The same, without proof that it is complete.
    LoseContinuity,
    /// Offset relative to the current one; negative values are in the future.
    Resume {
        channel: usize,
        back: i64,
        of: usize,
    },
}

fn actions() -> impl Strategy<Value = Action> {
    prop_oneof![
        8 => (0..3usize, 0..300usize).prop_map(|(channel, bytes)| Action::Publish { channel, bytes }),
        2 => (0..40u64).prop_map(Action::Pass),
        1 => Just(Action::Restart),
        1 => Just(Action::LoseContinuity),
        6 => (0..3usize, -2..30i64, 0..3usize).prop_map(|(channel, back, of)| Action::Resume { channel, back, of }),
    ]
}

const NAMES: [&str; 3] = ["alerts", "system", "devices"];

fn limits() -> Limits {
    let (ring_frames, ring_bytes, ring_age) = (12, 2_500, Duration::from_secs(60));
    Limits { ring_frames, ring_bytes, ring_age, recover: 6, ..Limits::default() }
}

/// The expected result: everything ever published, and how far back each channel's history reaches.
#[derive(Default)]
struct ExpectedState {
    all: Vec<(usize, Arc<Publication>, Millis)>,
    floor: [u64; 3],
    last: [u64; 3],
    now: Millis,
}

impl ExpectedState {
    fn of(&self, channel: usize) -> impl DoubleEndedIterator<Item = &(usize, Arc<Publication>, Millis)> {
        self.all.iter().filter(move |(of, ..)| *of == channel)
    }

    /// Returns the first offset within the bounds, which never decreases.
    fn bound(&mut self, limits: &Limits) {
        for channel in 0..3 {
            let (mut bytes, mut first) = (0, self.last[channel] + 1);
            for (count, (_, publication, published_at)) in self.of(channel).rev().enumerate() {
                bytes += publication.json.len() + 128;
                let fits = count == 0 || (count < limits.ring_frames && bytes <= limits.ring_bytes);
                if !fits || self.now.since(*published_at) > limits.ring_age {
                    break;
                }
                first = publication.offset;
            }
            self.floor[channel] = self.floor[channel].max(first);
        }
    }

    fn expected(
        &self,
        channel: usize,
        since: &Position,
        epoch: &str,
        most: usize,
    ) -> Result<Vec<u64>, RecoveryFailure> {
        if &*since.epoch != epoch {
            return Err(RecoveryFailure::Epoch);
        }
        if since.offset > self.last[channel] || since.offset + 1 < self.floor[channel] {
            return Err(RecoveryFailure::Gap);
        }
        let missed: Vec<u64> = (since.offset + 1..=self.last[channel]).collect();
        if missed.len() > most { Err(RecoveryFailure::Limit) } else { Ok(missed) }
    }
}

fn publication(channel: usize, offset: u64, bytes: usize) -> Arc<Publication> {
    Arc::new(Publication {
        channel: NAMES[channel].into(),
        offset,
        name: "e".into(),
        traits: EventAttributes::default(),
        priority: Priority::Normal,
        loss: DropPolicy::Never,
        at: Millis(0),
        json: Bytes::from(vec![b'x'; bytes]),
    })
}

fn fresh() -> Histories {
    let mut histories = Histories::new(limits());
    for name in NAMES {
        let mut channel = Channel::new(name.into(), Pool::Durable, 0);
        channel.pins = 1;
        histories.insert(channel);
    }
    histories
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]
    #[test]
    fn resuming_yields_exactly_what_was_missed_or_the_reason(script in proptest::collection::vec(actions(), 1..120)) {
        let (mut histories, mut expected_state, limits) = (fresh(), ExpectedState::default(), limits());
        let mut epochs = Epochs { durable: "0".to_owned(), memory: String::new() };
        let mut before = epochs.clone();
        for action in script {
            match action {
                Action::Publish { channel, bytes } => {
                    let offset = histories.get_mut(NAMES[channel]).unwrap().stage();
                    expected_state.last[channel] += 1;
                    prop_assert_eq!(offset, expected_state.last[channel], "gapless");
                    let publication = publication(channel, offset, bytes);
                    histories.push(Arc::clone(&publication), expected_state.now, expected_state.all.len() as u64 + 1);
                    expected_state.all.push((channel, publication, expected_state.now));
                }
                Action::Pass(seconds) => expected_state.now = expected_state.now.plus(Duration::from_secs(seconds)),
                Action::Restart | Action::LoseContinuity => {
                    histories = fresh();
                    for (number, (_, publication, published_at)) in expected_state.all.iter().enumerate() {
                        histories.restore(Arc::clone(publication), *published_at, number as u64 + 1);
                        histories.trim(expected_state.now);
                    }
                    prop_assert!(histories.restored());
                    if matches!(action, Action::LoseContinuity) {
                        before = epochs.clone();
                        epochs.durable = format!("{}", epochs.durable.parse::<u32>().unwrap() + 1);
                    }
                }
                Action::Resume { channel, back, of } => {
                    let offset = expected_state.last[channel].saturating_add_signed(-back);
                    let epoch = epochs.of(NAMES[channel], true);
                    for epoch_of_position in [epochs.of(NAMES[of], true), before.of(NAMES[channel], true)] {
                        let since = Position { epoch: epoch_of_position, offset };
                        let found = histories.get(NAMES[channel]).unwrap().missed(&since, &epoch, limits.recover);
                        let found = found.map(|missed| missed.iter().map(|one| one.offset).collect::<Vec<_>>());
                        prop_assert_eq!(found, expected_state.expected(channel, &since, &epoch, limits.recover));
                    }
                }
            }
            histories.trim(expected_state.now);
            expected_state.bound(&limits);
            let expected_held: usize = (0..3).map(|c| (expected_state.last[c] + 1 - expected_state.floor[c].min(expected_state.last[c] + 1)) as usize).sum();
            let held: usize = histories.iter().map(Channel::history).sum();
            prop_assert_eq!(histories.held().0, held);
            prop_assert_eq!(held, expected_held);
            prop_assert_eq!(histories.held().1, histories.iter().map(Channel::bytes).sum::<usize>());
        }
    }
}
