//! Controls as data.

use serde::{Deserialize, Serialize};

const CONTROLS: &str = include_str!("controls.toml");

/// What an evidence query looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceKind {
    /// Entries of the audit log within the window.
    Audit,
    /// The last result of a module of health.
    Probe,
    /// A setting in effect.
    Setting,
    /// A count of records.
    Record,
}

impl EvidenceKind {
    /// Returns the name used in responses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Audit => "audit",
            Self::Probe => "probe",
            Self::Setting => "setting",
            Self::Record => "record",
        }
    }
}

/// An evidence query.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// What it looks at.
    pub kind: EvidenceKind,
    /// Actions, separated by `|`, each a name or its beginning and `*`; a module; a setting; a kind of record.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Least number of entries or records; fewer are no evidence.
    #[serde(default = "one")]
    pub min: u64,
    /// Largest number of entries or records; more contradict the control.
    #[serde(default)]
    pub at_most: Option<u64>,
    /// Values of a setting that support the control, as JSON; `set` for any that is not empty. Every other contradicts it.
    #[serde(default)]
    pub is: Vec<String>,
}

const fn one() -> u64 {
    1
}

/// A control.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Control {
    /// Identifier, that of NIST SP 800-53 revision 5.
    pub id: String,
    /// What it is about.
    pub title: String,
    /// What the server has to show.
    pub requirement: String,
    /// The control in published frameworks.
    pub frameworks: Vec<String>,
    /// Number of days that evidence counts.
    pub window_days: u32,
    /// Evidence queries. All of them must support the control.
    pub evidence: Vec<Evidence>,
}

#[derive(Deserialize)]
struct File {
    control: Vec<Control>,
}

/// Returns all controls, sorted by identifier.
///
/// # Errors
/// The data file, which is part of the program, is not valid.
pub fn controls() -> Result<Vec<Control>, String> {
    let File { control: mut controls } = toml::from_str(CONTROLS).map_err(|error| error.to_string())?;
    controls.sort_by(|one, other| one.id.cmp(&other.id));
    Ok(controls)
}
