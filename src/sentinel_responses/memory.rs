//! What the server remembers between two rounds: readings, what was examined, and what was given. Pure: time is an
//! argument.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use muster_core::Millis;
use serde_json::{Value, json};

/// Readings of a device that are kept.
const MAX_READINGS: usize = 120;
/// Series of readings that are kept.
pub(super) const MAX_SERIES: usize = 10_000;
/// Subjects whose state is remembered.
const MAX_SUBJECTS: usize = 20_000;
/// Responses in an hour, on whatever subject.
const PER_HOUR: usize = 10;
const HOUR: Duration = Duration::from_secs(3_600);

/// A reading of a device, with where it was.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct PlacedReading {
    pub at: Millis,
    pub value: f64,
    /// Latitude and longitude, in degrees.
    pub position: Option<(f64, f64)>,
}

/// Readings by device and name.
#[derive(Debug, Default)]
pub(super) struct Series(HashMap<(String, String), VecDeque<PlacedReading>>);

impl Series {
    /// Adds a reading if it is newer than the last one. Returns the series then, as `telemetry` of q154.
    pub(super) fn add(&mut self, device: &str, name: &str, reading: PlacedReading) -> Option<Vec<Value>> {
        let key = (device.to_owned(), name.to_owned());
        if !self.0.contains_key(&key) && self.0.len() >= MAX_SERIES {
            return None;
        }
        let series = self.0.entry(key).or_default();
        if series.back().is_some_and(|last| last.at >= reading.at) {
            return None;
        }
        if series.len() >= MAX_READINGS {
            series.pop_front();
        }
        series.push_back(reading);
        Some(series.iter().map(shown).collect())
    }

    /// Forgets the readings of devices that are no longer listed.
    pub(super) fn retain(&mut self, is_listed: impl Fn(&str) -> bool) {
        self.0.retain(|(device, _), _| is_listed(device));
    }
}

fn shown(reading: &PlacedReading) -> Value {
    let mut row = json!({ "time": reading.at.rfc3339(), "value": reading.value });
    if let (Some(row), Some((lat, lon))) = (row.as_object_mut(), reading.position) {
        row.insert("lat".to_owned(), lat.into());
        row.insert("lon".to_owned(), lon.into());
    }
    row
}

/// In which state subjects were examined last.
#[derive(Debug, Default)]
pub(super) struct Examined(HashMap<String, u64>);

impl Examined {
    /// Returns whether a subject is in another state than when it was examined last, and remembers the state.
    pub(super) fn is_new(&mut self, subject: &str, state: u64) -> bool {
        if self.0.get(subject) == Some(&state) {
            return false;
        }
        if self.0.len() >= MAX_SUBJECTS {
            // All are examined once more, which costs time only.
            self.0.clear();
        }
        self.0.insert(subject.to_owned(), state);
        true
    }
}

/// Why a response is not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Held {
    /// It was given to this subject within an hour.
    Repeated,
    /// As many as an hour allows were given.
    TooMany,
}

/// Responses of the last hour: action and subject.
#[derive(Debug, Default)]
pub(super) struct Given(VecDeque<(Millis, &'static str, String)>);

impl Given {
    /// Decides whether a response may be given now, and counts it.
    pub(super) fn take(&mut self, action: &'static str, subject: &str, now: Millis) -> Result<(), Held> {
        while self.0.front().is_some_and(|(at, ..)| now.since(*at) >= HOUR) {
            self.0.pop_front();
        }
        if self.0.iter().any(|(_, given, of)| *given == action && of == subject) {
            return Err(Held::Repeated);
        }
        if self.0.len() >= PER_HOUR {
            return Err(Held::TooMany);
        }
        self.0.push_back((now, action, subject.to_owned()));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(at: u64, value: f64) -> PlacedReading {
        PlacedReading { at: Millis(at), value, position: None }
    }

    #[test]
    fn a_series_grows_with_newer_readings_only_and_is_bounded() {
        let mut series = Series::default();
        assert_eq!(series.add("dev_a", "water_cm", reading(1_000, 3.0)).map(|rows| rows.len()), Some(1));
        assert_eq!(series.add("dev_a", "water_cm", reading(1_000, 4.0)), None);
        assert_eq!(series.add("dev_b", "water_cm", reading(900, 4.0)).map(|rows| rows.len()), Some(1));
        let placed = PlacedReading { position: Some((51.5, -0.1)), ..reading(2_000, 5.0) };
        let rows = series.add("dev_a", "water_cm", placed).unwrap();
        let expected = json!([
            { "time": "1970-01-01T00:00:01.000Z", "value": 3.0 },
            { "time": "1970-01-01T00:00:02.000Z", "value": 5.0, "lat": 51.5, "lon": -0.1 },
        ]);
        assert_eq!(Value::Array(rows), expected);
        for at in 3..500 {
            series.add("dev_a", "water_cm", reading(at * 1_000, 3.0));
        }
        assert_eq!(series.add("dev_a", "water_cm", reading(500_000, 3.0)).map(|rows| rows.len()), Some(MAX_READINGS));
        series.retain(|device| device == "dev_b");
        assert_eq!(series.add("dev_a", "water_cm", reading(1, 3.0)).map(|rows| rows.len()), Some(1));
    }

    #[test]
    fn a_response_is_given_once_an_hour_to_a_subject_and_ten_times_to_all() {
        let mut given = Given::default();
        assert_eq!(given.take("task.pause", "task_a", Millis(0)), Ok(()));
        assert_eq!(given.take("task.pause", "task_a", Millis(3_599_999)), Err(Held::Repeated));
        assert_eq!(given.take("task.kill", "task_a", Millis(1)), Ok(()));
        for number in 0..8 {
            assert_eq!(given.take("task.pause", &number.to_string(), Millis(2)), Ok(()));
        }
        assert_eq!(given.take("task.pause", "one more", Millis(3)), Err(Held::TooMany));
        assert_eq!(given.take("task.pause", "task_a", Millis(3_600_000)), Ok(()));
    }

    #[test]
    fn a_subject_is_examined_again_when_its_state_differs() {
        let mut examined = Examined::default();
        assert!(examined.is_new("a", 1) && !examined.is_new("a", 1) && examined.is_new("a", 2));
        for number in 0..MAX_SUBJECTS {
            examined.is_new(&number.to_string(), 0);
        }
        assert!(examined.0.len() <= MAX_SUBJECTS);
    }
}
