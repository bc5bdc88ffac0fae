//! Any interleaving of publications, time, restarts and resumptions: either exactly what was missed, or the right why.

use muster_core::event::{DropPolicy, EventAttributes, Priority};
use std::time::Duration;

use bytes::Bytes;
use proptest::prelude::*;

use super::super::channel::Channel;
use super::super::histories::{Histories, Pool};
use super::*;

#[derive(Debug, Clone)]
enum Act {
    Publish {
        channel: usize,
        bytes: usize,
    },
    Pass(u64),
    /// Everything is read back from the journal.
    Restart,
    /// The same, and nothing proves that it is all.
    LoseContinuity,
    /// Offset back from the present one; negative is the future.
    Resume {
        channel: usize,
        back: i64,
        of: usize,
    },
}

fn acts() -> impl Strategy<Value = Act> {
    prop_oneof![
        8 => (0..3usize, 0..300usize).prop_map(|(channel, bytes)| Act::Publish { channel, bytes }),
        2 => (0..40u64).prop_map(Act::Pass),
        1 => Just(Act::Restart),
        1 => Just(Act::LoseContinuity),
        6 => (0..3usize, -2..30i64, 0..3usize).prop_map(|(channel, back, of)| Act::Resume { channel, back, of }),
    ]
}

const NAMES: [&str; 3] = ["alerts", "system", "devices"];

fn limits() -> Limits {
    let (ring_frames, ring_bytes, ring_age) = (12, 2_500, Duration::from_secs(60));
    Limits { ring_frames, ring_bytes, ring_age, recover: 6, ..Limits::default() }
}

/// The whole truth: everything ever published, and how far back each channel's history reaches by its bounds.
#[derive(Default)]
struct Truth {
    all: Vec<(usize, Arc<Publication>, Millis)>,
    floor: [u64; 3],
    last: [u64; 3],
    now: Millis,
}

impl Truth {
    fn of(&self, channel: usize) -> impl DoubleEndedIterator<Item = &(usize, Arc<Publication>, Millis)> {
        self.all.iter().filter(move |(of, ..)| *of == channel)
    }

    /// The first offset that the bounds leave, never less than before.
    fn bound(&mut self, limits: &Limits) {
        for channel in 0..3 {
            let (mut bytes, mut first) = (0, self.last[channel] + 1);
            for (count, (_, publication, told)) in self.of(channel).rev().enumerate() {
                bytes += publication.json.len() + 128;
                let fits = count == 0 || (count < limits.ring_frames && bytes <= limits.ring_bytes);
                if !fits || self.now.since(*told) > limits.ring_age {
                    break;
                }
                first = publication.offset;
            }
            self.floor[channel] = self.floor[channel].max(first);
        }
    }

    fn expected(&self, channel: usize, since: &Position, epoch: &str, most: usize) -> Result<Vec<u64>, Why> {
        if &*since.epoch != epoch {
            return Err(Why::Epoch);
        }
        if since.offset > self.last[channel] || since.offset + 1 < self.floor[channel] {
            return Err(Why::Gap);
        }
        let missed: Vec<u64> = (since.offset + 1..=self.last[channel]).collect();
        if missed.len() > most { Err(Why::Limit) } else { Ok(missed) }
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
    fn resuming_gives_exactly_what_was_missed_or_says_why(script in proptest::collection::vec(acts(), 1..120)) {
        let (mut histories, mut truth, limits) = (fresh(), Truth::default(), limits());
        let mut epochs = super::super::epoch::Epochs { durable: "0".to_owned(), memory: String::new() };
        let mut before = epochs.clone();
        for act in script {
            match act {
                Act::Publish { channel, bytes } => {
                    let offset = histories.get_mut(NAMES[channel]).unwrap().stage();
                    truth.last[channel] += 1;
                    prop_assert_eq!(offset, truth.last[channel], "gapless");
                    let publication = publication(channel, offset, bytes);
                    histories.push(Arc::clone(&publication), truth.now, truth.all.len() as u64 + 1);
                    truth.all.push((channel, publication, truth.now));
                }
                Act::Pass(seconds) => truth.now = truth.now.plus(Duration::from_secs(seconds)),
                Act::Restart | Act::LoseContinuity => {
                    histories = fresh();
                    for (number, (_, publication, told)) in truth.all.iter().enumerate() {
                        histories.restore(Arc::clone(publication), *told, number as u64 + 1);
                        histories.trim(truth.now);
                    }
                    prop_assert!(histories.restored());
                    if matches!(act, Act::LoseContinuity) {
                        before = epochs.clone();
                        epochs.durable = format!("{}", epochs.durable.parse::<u32>().unwrap() + 1);
                    }
                }
                Act::Resume { channel, back, of } => {
                    let offset = truth.last[channel].saturating_add_signed(-back);
                    let epoch = epochs.of(NAMES[channel], true);
                    for given in [epochs.of(NAMES[of], true), before.of(NAMES[channel], true)] {
                        let since = Position { epoch: given, offset };
                        let found = histories.get(NAMES[channel]).unwrap().missed(&since, &epoch, limits.recover);
                        let found = found.map(|missed| missed.iter().map(|one| one.offset).collect::<Vec<_>>());
                        prop_assert_eq!(found, truth.expected(channel, &since, &epoch, limits.recover));
                    }
                }
            }
            histories.trim(truth.now);
            truth.bound(&limits);
            let kept: usize = (0..3).map(|c| (truth.last[c] + 1 - truth.floor[c].min(truth.last[c] + 1)) as usize).sum();
            let held: usize = histories.iter().map(Channel::history).sum();
            prop_assert_eq!(histories.held().0, held);
            prop_assert_eq!(held, kept);
            prop_assert_eq!(histories.held().1, histories.iter().map(Channel::bytes).sum::<usize>());
        }
    }
}
