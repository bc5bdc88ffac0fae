//! Collects the deliveries of a round, one per shard. Pure, except for the ports.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{Delivery, ShardId, ShardPort};
use muster_core::event::Priority;

#[derive(Debug, Default)]
pub(super) struct Outgoing {
    by_shard: HashMap<ShardId, Batch>,
    pub(super) delivered: u64,
}

#[derive(Debug, Default)]
struct Batch {
    deliveries: Vec<Delivery>,
    urgent: usize,
}

impl Outgoing {
    pub(super) fn push(&mut self, shard: ShardId, delivery: Delivery) {
        let batch = self.by_shard.entry(shard).or_default();
        batch.urgent += usize::from(is_urgent(&delivery));
        batch.deliveries.push(delivery);
    }

    /// Delivers everything; returns the shards whose queue was full.
    pub(super) fn flush(&mut self, ports: &HashMap<ShardId, Arc<dyn ShardPort>>) -> Vec<ShardId> {
        let mut lost = Vec::new();
        for (shard, batch) in self.by_shard.drain() {
            let Some(port) = ports.get(&shard) else { continue };
            let deliveries = if batch.urgent > 0 { urgent_first(batch.deliveries) } else { batch.deliveries };
            let count = deliveries.len() as u64;
            match port.deliver(deliveries) {
                Ok(()) => self.delivered += count,
                Err(super::Overflow) => lost.push(shard),
            }
        }
        lost
    }
}

fn is_urgent(delivery: &Delivery) -> bool {
    matches!(delivery, Delivery::Publication(publication) if publication.priority == Priority::Urgent)
}

fn channel(delivery: &Delivery) -> Option<&str> {
    match delivery {
        Delivery::Publication(publication) => Some(&publication.channel),
        Delivery::Latest { channel, .. } | Delivery::Unsubscribed { channel, .. } => Some(channel),
        Delivery::Subscribed { answer: Ok(subscribed), .. } => Some(&subscribed.channel),
        Delivery::Subscribed { answer: Err(_), .. } | Delivery::Reset => None,
    }
}

/// Moves urgent publications to the front, each together with the preceding ones of its channel, so that no channel is
/// reordered.
fn urgent_first(deliveries: Vec<Delivery>) -> Vec<Delivery> {
    let mut lifted = vec![false; deliveries.len()];
    let mut channels = HashSet::new();
    for (delivery, lift) in deliveries.iter().zip(&mut lifted).rev() {
        let Some(channel) = channel(delivery) else { continue };
        if is_urgent(delivery) {
            channels.insert(channel.to_owned());
        }
        *lift = channels.contains(channel);
    }
    let (first, then): (Vec<_>, Vec<_>) = deliveries.into_iter().zip(lifted).partition(|(_, lift)| *lift);
    first.into_iter().chain(then).map(|(delivery, _)| delivery).collect()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use proptest::prelude::*;

    use super::super::Publication;
    use super::*;
    use muster_core::Millis;
    use muster_core::event::{DropPolicy, EventAttributes};

    fn publication(channel: u8, offset: u64, priority: Priority) -> Delivery {
        Delivery::Publication(Arc::new(Publication {
            channel: channel.to_string().into(),
            offset,
            name: "e".into(),
            traits: EventAttributes::default(),
            priority,
            loss: DropPolicy::Never,
            at: Millis(0),
            json: Bytes::new(),
        }))
    }

    fn seen(deliveries: &[Delivery]) -> Vec<(String, u64, bool)> {
        let of = |delivery: &Delivery| match delivery {
            Delivery::Publication(p) => (p.channel.to_string(), p.offset, p.priority == Priority::Urgent),
            other => panic!("{other:?}"),
        };
        deliveries.iter().map(of).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
        #[test]
        fn urgent_publications_come_first_and_no_channel_is_reordered(
            batch in proptest::collection::vec((0..4u8, any::<bool>()), 0..40)
        ) {
            let deliveries: Vec<_> = batch.iter().zip(1..).map(|((channel, urgent), offset)| {
                publication(*channel, offset, if *urgent { Priority::Urgent } else { Priority::Normal })
            }).collect();
            let out = seen(&urgent_first(deliveries.clone()));
            let mut sorted = out.clone();
            sorted.sort_by_key(|(_, offset, _)| *offset);
            prop_assert_eq!(sorted, seen(&deliveries), "nothing is lost or added");
            for channel in 0..4u8 {
                let offsets: Vec<_> = out.iter().filter(|o| o.0 == channel.to_string()).map(|o| o.1).collect();
                prop_assert!(offsets.is_sorted());
            }
            // No publication of a channel without urgent ones precedes the last urgent one.
            let last = out.iter().rposition(|(.., urgent)| *urgent).unwrap_or(0);
            for (channel, ..) in &out[..last] {
                prop_assert!(out.iter().any(|(other, _, urgent)| other == channel && *urgent));
            }
        }
    }
}
