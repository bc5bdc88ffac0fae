//! Pacing of notifications: maintenance windows and rates.

use std::str::FromStr;
use std::time::Duration;

use jiff_cron::Schedule;
use jiff_cron::jiff::Timestamp;
use jiff_cron::jiff::tz::TimeZone;

use super::policy::{Rate, Window};
use muster_core::{Error, Kind, Millis};

/// A parsed maintenance window.
#[derive(Debug, Clone)]
pub(crate) struct MaintenanceWindow {
    schedule: Schedule,
    zone: TimeZone,
    lasts: Duration,
}

impl MaintenanceWindow {
    /// # Errors
    /// `Invalid` for a malformed cron expression, an unknown zone or a duration out of range.
    pub(crate) fn read(window: &Window) -> Result<Self, Error> {
        let wrong = |field: &str, why: String| {
            Error::field(Kind::Invalid, &["body", "policy", "window", field], why, serde_json::Value::Null)
        };
        // Five fields are the format of crontab(5), whose firings are at second 0.
        let five = window.cron.split_whitespace().count() == 5;
        let cron = if five { format!("0 {}", window.cron) } else { window.cron.clone() };
        let schedule = Schedule::from_str(&cron).map_err(|error| wrong("cron", error.to_string()))?;
        let zone = TimeZone::get(&window.tz).map_err(|error| wrong("tz", error.to_string()))?;
        if !(60..=7 * 24 * 3600).contains(&window.duration_s) {
            return Err(wrong("duration_s", "must be 60 to 604,800".to_owned()));
        }
        Ok(Self { schedule, zone, lasts: Duration::from_secs(window.duration_s.into()) })
    }

    /// Returns whether a firing lies less than the window's duration in the past.
    pub(crate) fn is_open(&self, now: Millis) -> bool {
        let lasts = u64::try_from(self.lasts.as_millis()).unwrap_or(u64::MAX);
        let at = |millis: u64| i64::try_from(millis).ok().and_then(|at| Timestamp::from_millisecond(at).ok());
        let (Some(from), Some(now)) = (at(now.0.saturating_sub(lasts)), at(now.0)) else { return false };
        let first = self.schedule.after(from.to_zoned(self.zone.clone())).next();
        first.is_some_and(|firing| firing.timestamp() <= now)
    }
}

impl Rate {
    /// Returns the devices per minute after this many successes.
    pub(crate) fn per_minute(&self, succeeded: u32) -> u32 {
        let steps = succeeded / self.every_succeeded.max(1);
        let grown = f64::from(self.base_per_min) * self.factor.powf(f64::from(steps.min(1_000)));
        // Float to integer casts saturate.
        (grown as u32).clamp(1, self.max_per_min.max(1))
    }
}

/// Token bucket of notifications. Holds at most what one second earns, or one.
///
/// A restart begins empty: it can only be slower than the rate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RateCredit {
    /// In thousandths of a sixtieth of a device, so that milliseconds times devices per minute need no division.
    earned: u64,
    at: Millis,
}

/// Cost of one device: a minute in milliseconds.
const DEVICE: u64 = 60_000;

impl RateCredit {
    pub(crate) fn new(now: Millis) -> Self {
        Self { earned: 0, at: now }
    }

    /// Adds what the time since the last call earns; returns how many devices may be notified.
    pub(crate) fn earn(&mut self, per_minute: u32, now: Millis) -> u32 {
        let passed = u64::try_from(now.since(self.at).as_millis()).unwrap_or(u64::MAX);
        let most = (u64::from(per_minute) * 1_000).max(DEVICE);
        let earned = passed.saturating_mul(per_minute.into());
        self.earned = self.earned.saturating_add(earned).min(most);
        self.at = self.at.max(now);
        u32::try_from(self.earned / DEVICE).unwrap_or(u32::MAX)
    }

    pub(crate) fn spend(&mut self, devices: u32) {
        self.earned = self.earned.saturating_sub(u64::from(devices) * DEVICE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Millis {
        Millis::parse_rfc3339(text).unwrap()
    }

    #[test]
    fn a_window_is_open_from_its_firing_for_its_duration_in_its_zone() {
        let window = Window { cron: "0 2 * * *".into(), duration_s: 7200, tz: "Europe/Berlin".into() };
        let window = MaintenanceWindow::read(&window).unwrap();
        // Berlin is at +01:00 in January and +02:00 in July.
        for (time, open) in [
            ("2026-01-10T02:00:00+01:00", true),
            ("2026-01-10T03:59:59+01:00", true),
            ("2026-01-10T04:00:00+01:00", false),
            ("2026-01-10T01:59:59+01:00", false),
            ("2026-07-10T02:30:00+02:00", true),
            ("2026-07-10T02:30:00Z", false),
        ] {
            assert_eq!(window.is_open(at(time)), open, "{time}");
        }
    }

    #[test]
    fn an_invalid_window_is_rejected_with_its_field() {
        let window = |cron: &str, tz: &str, duration_s| Window { cron: cron.into(), tz: tz.into(), duration_s };
        for (window, field) in [
            (window("often", "UTC", 3600), "cron"),
            (window("0 2 * * *", "Atlantis/Sunken", 3600), "tz"),
            (window("0 2 * * *", "UTC", 0), "duration_s"),
        ] {
            let error = MaintenanceWindow::read(&window).unwrap_err();
            assert_eq!(error.fields[0].loc.last().map(String::as_str), Some(field));
        }
    }

    #[test]
    fn a_rate_grows_with_success_up_to_its_maximum() {
        let rate = Rate { base_per_min: 50, factor: 2.0, max_per_min: 1000, every_succeeded: 100 };
        // AWS's documented example: 50 a minute, doubled with every 100 that succeed, 1,000 at most.
        let seen = [0, 99, 100, 200, 400, 500, 5000].map(|succeeded| rate.per_minute(succeeded));
        assert_eq!(seen, [50, 50, 100, 200, 800, 1000, 1000]);
    }

    #[test]
    fn credit_is_earned_by_time_and_bounded() {
        let mut credit = RateCredit::new(Millis(0));
        assert_eq!(credit.earn(30, Millis(0)), 0);
        assert_eq!(credit.earn(30, Millis(1_999)), 0);
        assert_eq!(credit.earn(30, Millis(2_000)), 1, "30 a minute is one in two seconds");
        credit.spend(1);
        assert_eq!(credit.earn(30, Millis(600_000)), 1, "ten idle minutes earn one device, not 300");
        credit.spend(1);
        assert_eq!(credit.earn(600, Millis(3_600_000)), 10, "and at 600 a minute a second's worth");
    }
}
