//! How a device's status moves. Pure: what happened comes in, the next status goes out.
//!
//! | from | heard, well | heard, ill | silent | maintain | resume | quarantine | release | retire |
//! |---|---|---|---|---|---|---|---|---|
//! | provisioned | online | online | - | maintenance | | quarantined | | retired |
//! | online | - | degraded | offline | maintenance | | quarantined | | retired |
//! | degraded | online | - | offline | maintenance | | quarantined | | retired |
//! | offline | online | online | - | maintenance | | quarantined | | retired |
//! | maintenance | - | - | - | | online or offline | quarantined | | retired |
//! | quarantined | | | - | | | | provisioned | retired |
//! | retired | | | | | | | | |
//!
//! `-` stays, an empty cell is refused. A device is heard as online first and as degraded from there, so that a rule of
//! health never hides that it came back. Out of quarantine leads only a release, which needs a reason, never maintenance.

use serde_json::json;

use super::record::Status;
use muster_core::{Error, Kind};

/// What happened to a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Move {
    /// An authenticated heartbeat, by which it is well.
    Well,
    /// An authenticated heartbeat, and a rule of health says that it is not.
    Ill,
    /// No heartbeat for three intervals.
    Silent,
    Maintain,
    /// The end of maintenance, of a device that was heard of lately.
    ResumeHeard,
    /// The end of maintenance, of a device that was not.
    ResumeSilent,
    Quarantine,
    Release,
    Retire,
}

impl Move {
    pub const ALL: [Self; 9] = [
        Self::Well,
        Self::Ill,
        Self::Silent,
        Self::Maintain,
        Self::ResumeHeard,
        Self::ResumeSilent,
        Self::Quarantine,
        Self::Release,
        Self::Retire,
    ];

    /// As callers name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Well | Self::Ill => "heartbeat",
            Self::Silent => "silence",
            Self::Maintain => "begin_maintenance",
            Self::ResumeHeard | Self::ResumeSilent => "end_maintenance",
            Self::Quarantine => "quarantine",
            Self::Release => "release",
            Self::Retire => "retire",
        }
    }
}

impl Status {
    /// The status after a move; `None` where the move is refused.
    pub const fn after(self, happened: Move) -> Option<Self> {
        match (self, happened) {
            (Self::Retired, _)
            | (Self::Quarantined, Move::Well | Move::Ill | Move::Maintain | Move::Quarantine)
            | (Self::Maintenance, Move::Maintain) => None,
            (_, Move::Retire) => Some(Self::Retired),
            (_, Move::Quarantine) => Some(Self::Quarantined),
            (_, Move::Maintain) => Some(Self::Maintenance),
            (Self::Maintenance, Move::ResumeHeard) => Some(Self::Online),
            (Self::Maintenance, Move::ResumeSilent) => Some(Self::Offline),
            (Self::Quarantined, Move::Release) => Some(Self::Provisioned),
            (_, Move::ResumeHeard | Move::ResumeSilent | Move::Release) => None,
            (Self::Online | Self::Degraded, Move::Silent) => Some(Self::Offline),
            (Self::Provisioned | Self::Offline | Self::Degraded, Move::Well)
            | (Self::Provisioned | Self::Offline, Move::Ill) => Some(Self::Online),
            (Self::Online, Move::Ill) => Some(Self::Degraded),
            (stays, Move::Well | Move::Ill | Move::Silent) => Some(stays),
        }
    }

    /// What people may do to a device of this status.
    pub fn allowed(self) -> Vec<&'static str> {
        let moves = [Move::Maintain, Move::ResumeHeard, Move::Quarantine, Move::Release, Move::Retire];
        moves.into_iter().filter(|&happened| self.after(happened).is_some()).map(Move::name).collect()
    }

    /// As [`Self::after`], for a caller who is told what would have been allowed.
    ///
    /// # Errors
    /// `Conflict`, with the allowed moves.
    pub fn moved(self, happened: Move) -> Result<Self, Error> {
        self.after(happened).ok_or_else(|| {
            let message = format!("a device that is {} does not take `{}`", self.name(), happened.name());
            let details = json!({ "status": self.name(), "allowed": self.allowed() });
            Error::new(Kind::Conflict, message).coded("illegal_transition").detailing(details)
        })
    }

    /// Whether the server finds it out by itself, from heartbeats and their absence.
    pub const fn automatic(self) -> bool {
        matches!(self, Self::Online | Self::Degraded | Self::Offline)
    }

    /// Whether its credentials are let in.
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
    fn every_status_takes_every_move_as_the_contract_says() {
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
            for (happened, expected) in Move::ALL.into_iter().zip(row) {
                assert_eq!(from.after(happened), expected, "{from:?} {happened:?}");
            }
        }
    }

    #[test]
    fn a_refused_move_lists_what_is_allowed() {
        let refused = Status::Quarantined.moved(Move::Maintain).unwrap_err();
        assert_eq!(refused.kind, Kind::Conflict);
        assert_eq!(*refused.details.unwrap(), json!({ "status": "quarantined", "allowed": ["release", "retire"] }));
    }

    fn any_move() -> impl Strategy<Value = Move> {
        prop::sample::select(&Move::ALL[..])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        /// Whatever happens: quarantine is left only by release or retirement, retirement never.
        #[test]
        fn trust_comes_back_only_by_release(moves in prop::collection::vec(any_move(), 0..60)) {
            let mut status = Status::Provisioned;
            for happened in moves {
                let next = status.after(happened).unwrap_or(status);
                if !status.trusted() && next != status {
                    prop_assert!(matches!(happened, Move::Release | Move::Retire), "{status:?} {happened:?}");
                }
                prop_assert!(status != Status::Retired || next == Status::Retired);
                status = next;
            }
        }

        /// A heartbeat settles after two steps at most.
        #[test]
        fn a_heartbeat_settles(from in prop::sample::select(&Status::ALL[..]), ill in any::<bool>()) {
            let beat = if ill { Move::Ill } else { Move::Well };
            if let Some(second) = from.after(beat).and_then(|first| first.after(beat)) {
                prop_assert_eq!(second.after(beat), Some(second));
            }
        }
    }
}
