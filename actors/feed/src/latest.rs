//! Channels that only deliver the latest value of each key. Pure.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::value::RawValue;

use super::StateItem;

/// The latest values of a channel by key.
#[derive(Debug)]
pub(super) struct Values {
    pub(super) name: Arc<str>,
    /// Counts every value; subscribers see gaps.
    pub(super) last: u64,
    by_key: BTreeMap<Arc<str>, Value>,
    /// Sequence number of the last value, counted over all channels.
    touched: u64,
    pub(super) pins: usize,
}

#[derive(Debug)]
struct Value {
    offset: u64,
    data: Box<RawValue>,
}

impl Values {
    /// Returns the values as the channel's state.
    pub(super) fn state(&self) -> Vec<StateItem> {
        let item = |(key, value): (&Arc<str>, &Value)| StateItem {
            id: key.to_string(),
            version: value.offset,
            data: value.data.clone(),
        };
        self.by_key.iter().map(item).collect()
    }
}

/// All channels of latest values, bounded in number.
#[derive(Debug, Default)]
pub(super) struct LatestChannels {
    channels: HashMap<Arc<str>, Values>,
    touches: u64,
    max_channels: usize,
    max_keys: usize,
}

impl LatestChannels {
    pub(super) fn new(max_channels: usize, max_keys: usize) -> Self {
        Self { max_channels, max_keys, ..Self::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.channels.len()
    }

    /// Returns a channel, creating it if necessary.
    pub(super) fn open(&mut self, name: &str) -> &mut Values {
        if !self.channels.contains_key(name) {
            self.evict();
        }
        self.channels.entry(name.into()).or_insert_with_key(|name| Values {
            name: Arc::clone(name),
            last: 0,
            by_key: BTreeMap::new(),
            touched: 0,
            pins: 0,
        })
    }

    pub(super) fn get_mut(&mut self, name: &str) -> Option<&mut Values> {
        self.channels.get_mut(name)
    }

    /// Stores a value; returns its channel, key and offset. Returns `None` if the channel has the maximum number of
    /// keys.
    pub(super) fn put(&mut self, name: &str, key: &str, data: Box<RawValue>) -> Option<(&Values, Arc<str>, u64)> {
        self.touches += 1;
        let (touched, max_keys) = (self.touches, self.max_keys);
        let values = self.open(name);
        let known = values.by_key.get_key_value(key).map(|(key, _)| Arc::clone(key));
        if known.is_none() && values.by_key.len() >= max_keys {
            return None;
        }
        let key = known.unwrap_or_else(|| key.into());
        values.last += 1;
        values.touched = touched;
        let offset = values.last;
        values.by_key.insert(Arc::clone(&key), Value { offset, data });
        Some((values, key, offset))
    }

    /// Drops a channel without values and subscribers.
    pub(super) fn release(&mut self, name: &str) {
        if self.channels.get(name).is_some_and(|values| values.pins == 0 && values.by_key.is_empty()) {
            self.channels.remove(name);
        }
    }

    /// If there are too many channels, drops a tenth of those without subscribers, least recently used first.
    fn evict(&mut self) {
        if self.channels.len() < self.max_channels {
            return;
        }
        let free = self.channels.values().filter(|values| values.pins == 0);
        let mut touched: Vec<u64> = free.map(|values| values.touched).collect();
        let at = touched.len() / 10;
        if touched.is_empty() {
            return;
        }
        let (_, &mut until, _) = touched.select_nth_unstable(at);
        self.channels.retain(|_, values| values.pins > 0 || values.touched > until);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(number: u64) -> Box<RawValue> {
        serde_json::value::to_raw_value(&number).unwrap()
    }

    #[test]
    fn a_value_replaces_the_previous_one() {
        let mut all = LatestChannels::new(10, 2);
        for number in 1..=3 {
            all.put("c", "a", data(number));
        }
        all.put("c", "b", data(9));
        assert!(all.put("c", "third", data(1)).is_none(), "two keys");
        let state = all.open("c").state();
        let seen: Vec<_> = state.iter().map(|item| (item.id.as_str(), item.version, item.data.get())).collect();
        assert_eq!(seen, [("a", 3, "3"), ("b", 4, "9")]);
    }

    #[test]
    fn the_least_recently_used_are_evicted_unless_subscribed() {
        let mut all = LatestChannels::new(20, 1);
        for number in 0..20 {
            all.put(&format!("c{number}"), "k", data(number));
        }
        all.open("c0").pins = 1;
        all.put("c1", "k", data(1));
        all.put("new", "k", data(1));
        assert!(all.get_mut("c0").is_some() && all.get_mut("c1").is_some() && all.get_mut("new").is_some());
        assert!(all.get_mut("c2").is_none() && all.len() <= 20);
    }
}
