//! The state machine of a device's status. Pure.
//!
//! | from | heartbeat, healthy | heartbeat, unhealthy | silence | begin maintenance | end maintenance | quarantine | release | retire |
//! |---|---|---|---|---|---|---|---|---|
//! | provisioned | online | online | - | maintenance | | quarantined | | retired |
//! | online | - | degraded | offline | maintenance | | quarantined | | retired |
//! | degraded | online | - | offline | maintenance | | quarantined | | retired |
//! | offline | online | online | - | maintenance | | quarantined | | retired |
//! | maintenance | - | - | - | | online or offline | quarantined | | retired |
//! | quarantined | | | - | | | | provisioned | retired |
//! | retired | | | | | | | | |
//!
//! `-` means no change, an empty cell that the trigger is rejected. The first heartbeat makes a device online, even an
//! unhealthy one, and the next degraded, so that a health rule never hides that the device is back. Quarantine ends
//! only by a release, which needs a reason, never by maintenance.

use serde_json::json;

use super::record::Status;
use muster_core::{Error, Kind};

/// Trigger of a status transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StatusTrigger {
    /// An authenticated heartbeat that breaks no health rule.
    HealthyHeartbeat,
    /// An authenticated heartbeat that breaks a health rule.
    UnhealthyHeartbeat,
    /// No heartbeat for three heartbeat intervals.
    Silence,
    /// Begin of maintenance.
    BeginMaintenance,
    /// End of maintenance of a device with recent heartbeats.
    ResumeOnline,
    /// End of maintenance of a device without recent heartbeats.
    ResumeOffline,
    /// Quarantine by an operator or by the server.
    Quarantine,
    /// Release from quarantine.
    Release,
    /// Permanent removal.
    Retire,
}

impl StatusTrigger {
    /// All triggers.
    pub const ALL: [Self; 9] = [
        Self::HealthyHeartbeat,
        Self::UnhealthyHeartbeat,
        Self::Silence,
        Self::BeginMaintenance,
        Self::ResumeOnline,
        Self::ResumeOffline,
        Self::Quarantine,
        Self::Release,
        Self::Retire,
    ];

    /// Returns the name of the trigger in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::HealthyHeartbeat | Self::UnhealthyHeartbeat => "heartbeat",
            Self::Silence => "silence",
            Self::BeginMaintenance => "begin_maintenance",
            Self::ResumeOnline | Self::ResumeOffline => "end_maintenance",
            Self::Quarantine => "quarantine",
            Self::Release => "release",
            Self::Retire => "retire",
        }
    }
}

impl StatusTrigger {
    /// Returns the verb that operators send.
    pub const fn verb(self) -> &'static str {
        match self {
            Self::BeginMaintenance | Self::ResumeOnline | Self::ResumeOffline => "maintenance",
            other => other.name(),
        }
    }
}

impl Status {
    /// Returns the status after a trigger; `None` if the trigger is rejected.
    pub const fn after(self, trigger: StatusTrigger) -> Option<Self> {
        match (self, trigger) {
            (Self::Retired, _)
            | (
                Self::Quarantined,
                StatusTrigger::HealthyHeartbeat
                | StatusTrigger::UnhealthyHeartbeat
                | StatusTrigger::BeginMaintenance
                | StatusTrigger::Quarantine,
            )
            | (Self::Maintenance, StatusTrigger::BeginMaintenance) => None,
            (_, StatusTrigger::Retire) => Some(Self::Retired),
            (_, StatusTrigger::Quarantine) => Some(Self::Quarantined),
            (_, StatusTrigger::BeginMaintenance) => Some(Self::Maintenance),
            (Self::Maintenance, StatusTrigger::ResumeOnline) => Some(Self::Online),
            (Self::Maintenance, StatusTrigger::ResumeOffline) => Some(Self::Offline),
            (Self::Quarantined, StatusTrigger::Release) => Some(Self::Provisioned),
            (_, StatusTrigger::ResumeOnline | StatusTrigger::ResumeOffline | StatusTrigger::Release) => None,
            (Self::Online | Self::Degraded, StatusTrigger::Silence) => Some(Self::Offline),
            (Self::Provisioned | Self::Offline | Self::Degraded, StatusTrigger::HealthyHeartbeat)
            | (Self::Provisioned | Self::Offline, StatusTrigger::UnhealthyHeartbeat) => Some(Self::Online),
            (Self::Online, StatusTrigger::UnhealthyHeartbeat) => Some(Self::Degraded),
            (stays, StatusTrigger::HealthyHeartbeat | StatusTrigger::UnhealthyHeartbeat | StatusTrigger::Silence) => {
                Some(stays)
            }
        }
    }

    /// Returns the verbs that operators may apply in this status; each is `POST /api/v1/devices/{id}/{verb}`.
    pub fn allowed(self) -> Vec<&'static str> {
        let triggers = [
            StatusTrigger::BeginMaintenance,
            StatusTrigger::ResumeOnline,
            StatusTrigger::Quarantine,
            StatusTrigger::Release,
            StatusTrigger::Retire,
        ];
        triggers.into_iter().filter(|&trigger| self.after(trigger).is_some()).map(StatusTrigger::verb).collect()
    }

    /// Returns the status after a trigger.
    ///
    /// # Errors
    /// `Conflict` with the allowed actions.
    pub fn transition(self, trigger: StatusTrigger) -> Result<Self, Error> {
        self.after(trigger).ok_or_else(|| {
            let message = format!("a device that is {} does not take `{}`", self.name(), trigger.name());
            let details = json!({ "status": self.name(), "allowed": self.allowed() });
            Error::new(Kind::Conflict, message).coded("illegal_transition").detailing(details)
        })
    }

    /// Returns whether the server determines this status by itself, from heartbeats and their absence.
    pub const fn automatic(self) -> bool {
        matches!(self, Self::Online | Self::Degraded | Self::Offline)
    }

    /// Returns whether credentials and commands of the device are accepted.
    pub const fn trusted(self) -> bool {
        !matches!(self, Self::Quarantined | Self::Retired)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The contract's machine, cell by cell: provisioned -(first heartbeat)-> online; online -(health rule)-> degraded
    /// -> online; online|degraded -(silence)-> offline -(heartbeat)-> online; any -(operator)-> maintenance ->
    /// online|offline; any -> quarantined -> provisioned; any -> retired, which is terminal.
    #[test]
    fn every_status_handles_every_trigger_as_the_contract_defines() {
        use Status::{Degraded as D, Maintenance as M, Offline as F, Online as O, Provisioned as P};
        use Status::{Quarantined as Q, Retired as R};
        let table: [(Status, [Option<Status>; 9]); 7] = [
            (P, [Some(O), Some(O), Some(P), Some(M), None, None, Some(Q), None, Some(R)]),
            (O, [Some(O), Some(D), Some(F), Some(M), None, None, Some(Q), None, Some(R)]),
            (D, [Some(O), Some(D), Some(F), Some(M), None, None, Some(Q), None, Some(R)]),
            (F, [Some(O), Some(O), Some(F), Some(M), None, None, Some(Q), None, Some(R)]),
            (M, [Some(M), Some(M), Some(M), None, Some(O), Some(F), Some(Q), None, Some(R)]),
            (Q, [None, None, Some(Q), None, None, None, None, Some(P), Some(R)]),
            (R, [None; 9]),
        ];
        for (from, row) in table {
            for (trigger, expected) in StatusTrigger::ALL.into_iter().zip(row) {
                assert_eq!(from.after(trigger), expected, "{from:?} {trigger:?}");
            }
        }
    }

    #[test]
    fn a_rejected_transition_lists_the_allowed_actions() {
        let refused = Status::Quarantined.transition(StatusTrigger::BeginMaintenance).unwrap_err();
        assert_eq!(refused.kind, Kind::Conflict);
        assert_eq!(*refused.details.unwrap(), json!({ "status": "quarantined", "allowed": ["release", "retire"] }));
    }

    fn any_move() -> impl Strategy<Value = StatusTrigger> {
        prop::sample::select(&StatusTrigger::ALL[..])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        /// For any sequence of triggers: quarantine ends only by release or retirement, retirement never.
        #[test]
        fn trust_is_restored_only_by_release(triggers in prop::collection::vec(any_move(), 0..60)) {
            let mut status = Status::Provisioned;
            for trigger in triggers {
                let next = status.after(trigger).unwrap_or(status);
                if !status.trusted() && next != status {
                    prop_assert!(matches!(trigger, StatusTrigger::Release | StatusTrigger::Retire), "{status:?} {trigger:?}");
                }
                prop_assert!(status != Status::Retired || next == Status::Retired);
                status = next;
            }
        }

        /// Repeating a heartbeat changes the status at most twice.
        #[test]
        fn a_heartbeat_settles(from in prop::sample::select(&Status::ALL[..]), unhealthy in any::<bool>()) {
            let beat = if unhealthy { StatusTrigger::UnhealthyHeartbeat } else { StatusTrigger::HealthyHeartbeat };
            if let Some(second) = from.after(beat).and_then(|first| first.after(beat)) {
                prop_assert_eq!(second.after(beat), Some(second));
            }
        }
    }
}
