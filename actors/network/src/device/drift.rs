//! Drift: a device that runs another firmware than the one it should run, while no job is changing it. Apart from the
//! record because heartbeats and rollouts compare alike. Pure.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::deadline::Due;
use super::entry::Heartbeat;
use super::record::{Firmware, FirmwareSync, FirmwareVersion};
use super::transaction::{DeviceEdit, DeviceTransaction, WriteMode};
use muster_core::{Error, Millis};
use std::sync::Arc;

impl FirmwareVersion {
    /// Returns whether a report names this version. A device that knows no sequence number or artifact reports none.
    pub(crate) fn is(&self, reported: &Self) -> bool {
        self.version == reported.version
            && (reported.sequence == 0 || reported.sequence == self.sequence)
            && (reported.artifact.is_none() || reported.artifact == self.artifact)
    }

    /// Returns whether two records mean the same version; a sequence number of 0 is not known.
    fn same(&self, other: &Self) -> bool {
        self.version == other.version && (self.sequence == other.sequence || self.sequence == 0 || other.sequence == 0)
    }
}

impl Firmware {
    /// Applies the version that a heartbeat reports; returns whether the record changed. A known version keeps its
    /// artifact and sequence number.
    pub(super) fn report(&mut self, report: &Heartbeat, now: Millis) -> bool {
        let before = self.clone();
        if let Some(reported) = report.firmware.as_ref().filter(|reported| !self.runs(reported)) {
            let known = [&self.desired, &self.previous].into_iter().flatten().find(|known| known.is(reported));
            let new = known.unwrap_or(reported).clone();
            let old = self.current.replace(new);
            // The same version with more details is no other version.
            let old = old.filter(|old| !self.current.as_ref().is_some_and(|current| current.same(old)));
            self.previous = old.or_else(|| self.previous.take());
        }
        self.slot = report.slot.or(self.slot);
        self.compare(now);
        *self != before
    }

    /// Returns whether the device runs a reported version, as far as the record knows.
    pub(super) fn runs(&self, reported: &FirmwareVersion) -> bool {
        self.current.as_ref().is_some_and(|current| current.is(reported))
    }

    /// Compares the current with the desired version after either has changed.
    pub(super) fn compare(&mut self, now: Millis) {
        let (Some(desired), Some(current)) = (&self.desired, &self.current) else {
            (self.differs_since, self.drift) = (None, false);
            return;
        };
        if desired.same(current) {
            self.sync = FirmwareSync::InSync;
        } else if self.sync != FirmwareSync::Pending {
            self.sync = FirmwareSync::Error;
            self.differs_since.get_or_insert(now);
            return;
        }
        (self.differs_since, self.drift) = (None, false);
    }

    /// Returns when the difference counts as drift, if it does not yet.
    pub(super) fn drifts_at(&self, grace: Duration) -> Option<Millis> {
        self.differs_since.filter(|_| !self.drift).map(|since| since.plus(grace))
    }
}

impl DeviceEdit {
    /// Schedules the check for drift, and publishes its end, after the firmware of the device changed.
    pub(super) fn firmware_changed(&mut self, before: &Firmware, transaction: &DeviceTransaction<'_>) {
        let firmware = &self.entry.device.firmware;
        if firmware.differs_since != before.differs_since
            && let Some(at) = firmware.drifts_at(transaction.rules.drift_grace)
        {
            self.due.push((at, Due::Drift(Arc::clone(&self.entry.device.id))));
        }
        if before.drift && !firmware.drift {
            let more = drift_of(firmware);
            self.event("device.drift_resolved", transaction.now, more);
        }
    }
}

/// Marks a device that has run another version than the desired one for longer than the grace.
pub(super) fn flag_drift(transaction: &mut DeviceTransaction<'_>, id: &Arc<str>) -> Result<(), Error> {
    let mut edit = transaction.edit(id)?;
    let at = edit.entry.device.firmware.drifts_at(transaction.rules.drift_grace);
    match at {
        Some(at) if at <= transaction.now => {
            edit.entry.device.firmware.drift = true;
            edit.bump(transaction.now);
            let more = drift_of(&edit.entry.device.firmware);
            let versions = |of: &Option<FirmwareVersion>| of.as_ref().map(|of| of.version.clone()).unwrap_or_default();
            let firmware = &edit.entry.device.firmware;
            let note = format!("runs {}, not {}", versions(&firmware.current), versions(&firmware.desired));
            edit.note(transaction.now, "system", "drift", Some(note))?;
            edit.event("device.drift_detected", transaction.now, more);
        }
        Some(at) => {
            edit.write = WriteMode::Deferred;
            edit.due.push((at, Due::Drift(Arc::clone(id))));
        }
        None => edit.write = WriteMode::Deferred,
    }
    transaction.save(edit)
}

/// Returns what the events of drift contain. An older version than the desired one is a `major` alarm, since it may be a
/// downgrade by an attacker or a failed boot; any other is `minor`.
fn drift_of(firmware: &Firmware) -> Map<String, Value> {
    let sequence = |of: &Option<FirmwareVersion>| of.as_ref().map_or(0, |of| of.sequence);
    let older = sequence(&firmware.current) != 0 && sequence(&firmware.current) < sequence(&firmware.desired);
    let data = json!({
        "severity": if older { "major" } else { "minor" }, "installed": firmware.current, "desired": firmware.desired,
        "differs_since": firmware.differs_since,
    });
    match data {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(sequence: u64) -> FirmwareVersion {
        FirmwareVersion { artifact: Some(format!("art_{sequence}")), version: format!("{sequence}.0.0"), sequence }
    }

    fn reported(sequence: u64) -> Heartbeat {
        let firmware = FirmwareVersion { artifact: None, version: format!("{sequence}.0.0"), sequence: 0 };
        Heartbeat { firmware: Some(firmware), ..Heartbeat::default() }
    }

    #[test]
    fn a_report_without_details_keeps_what_is_known_of_the_version_and_of_the_one_before() {
        let mut firmware = Firmware {
            current: Some(version(2)),
            desired: Some(version(2)),
            previous: Some(version(1)),
            sync: FirmwareSync::InSync,
            ..Firmware::default()
        };
        assert!(!firmware.report(&reported(2), Millis(1)));
        assert_eq!((&firmware.current, &firmware.previous), (&Some(version(2)), &Some(version(1))));
        assert!(firmware.report(&reported(1), Millis(2)));
        assert_eq!((&firmware.current, &firmware.previous), (&Some(version(1)), &Some(version(2))));
        assert_eq!((firmware.sync, firmware.differs_since), (FirmwareSync::Error, Some(Millis(2))));
        firmware.report(&reported(1), Millis(3));
        assert_eq!(firmware.differs_since, Some(Millis(2)), "since the first report");
        firmware.report(&reported(2), Millis(4));
        assert_eq!((firmware.sync, firmware.differs_since), (FirmwareSync::InSync, None));
    }

    #[test]
    fn a_device_that_a_job_is_changing_and_one_without_a_desired_version_do_not_drift() {
        let pending = Firmware { desired: Some(version(2)), sync: FirmwareSync::Pending, ..Firmware::default() };
        for mut firmware in [pending, Firmware::default()] {
            firmware.report(&reported(1), Millis(1));
            assert_eq!((firmware.drifts_at(Duration::ZERO), firmware.drift), (None, false));
        }
    }

    #[test]
    fn a_record_of_an_earlier_version_has_no_drift() {
        let text = r#"{"current":null,"desired":null,"previous":null,"slot":null,"sync":"unknown"}"#;
        assert_eq!(serde_json::from_str::<Firmware>(text).ok(), Some(Firmware::default()));
    }
}
