//! Settings of what follows verdicts of the sentinels.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ConfigError;

/// Most responses.
const MAX_RESPONSES: usize = 32;
/// Limits of a reading that are required, and those that may be left out: those of the engine q154.
const REQUIRED: [&str; 2] = ["min", "max"];
const OPTIONAL: [&str; 6] = ["suspect_min", "suspect_max", "spike", "rate", "flat_count", "flat_tolerance"];

/// What the server gathers itself and has sentinels examine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Gathered {
    /// Calls of engines by a running task (q153).
    Tasks,
    /// Login attempts of the last hour on an account (q147).
    Logins,
    /// Readings of a device (q154).
    Telemetry,
}

impl Gathered {
    /// Returns the name in the settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tasks => "tasks",
            Self::Logins => "logins",
            Self::Telemetry => "telemetry",
        }
    }
}

/// The verdict from which a response follows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseVerdict {
    /// A person should look at it.
    Warn,
    /// Act at once.
    #[default]
    Critical,
}

/// What the server does, or asks to be approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize)]
pub enum ResponseAction {
    /// Pauses the task at once.
    #[serde(rename = "task.pause")]
    TaskPause,
    /// Asks to kill the task.
    #[serde(rename = "task.kill")]
    TaskKill,
    /// Asks to revoke the API key that owns the task.
    #[serde(rename = "key.revoke")]
    KeyRevoke,
    /// Asks to end all sessions of the account.
    #[serde(rename = "session.revoke")]
    SessionRevoke,
    /// Asks to quarantine the device.
    #[serde(rename = "device.quarantine")]
    DeviceQuarantine,
    /// Asks to report an incident of the device.
    #[serde(rename = "incident.report")]
    IncidentReport,
}

impl ResponseAction {
    /// Those that follow an approval.
    const APPROVED: [Self; 5] =
        [Self::TaskKill, Self::KeyRevoke, Self::SessionRevoke, Self::DeviceQuarantine, Self::IncidentReport];

    /// Returns the response of an approval's action.
    pub fn approved(action: &str) -> Option<Self> {
        Self::APPROVED.into_iter().find(|response| response.name() == action)
    }

    /// Returns the name, which is the action of the approval.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TaskPause => "task.pause",
            Self::TaskKill => "task.kill",
            Self::KeyRevoke => "key.revoke",
            Self::SessionRevoke => "session.revoke",
            Self::DeviceQuarantine => "device.quarantine",
            Self::IncidentReport => "incident.report",
        }
    }

    /// Returns what it may follow.
    pub const fn source(self) -> Gathered {
        match self {
            Self::TaskPause | Self::TaskKill | Self::KeyRevoke => Gathered::Tasks,
            Self::SessionRevoke => Gathered::Logins,
            Self::DeviceQuarantine | Self::IncidentReport => Gathered::Telemetry,
        }
    }
}

/// What follows a verdict of the sentinels on what the server gathers itself.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SentinelResponse {
    /// What is examined.
    pub on: Gathered,
    /// The verdict from which it follows.
    #[serde(default)]
    pub verdict: ResponseVerdict,
    /// What follows.
    pub action: ResponseAction,
    /// Name of the reading, for telemetry.
    #[serde(default)]
    pub reading: String,
    /// Limits of the reading, as q154 has them: `min`, `max`, `suspect_min`, `suspect_max`, `spike`, `rate` a second,
    /// `flat_count`, `flat_tolerance`.
    #[serde(default)]
    pub limits: BTreeMap<String, f64>,
}

impl SentinelResponse {
    /// Returns the limits as the input of q154.
    pub fn limits(&self) -> Value {
        let number = |(name, value): (&String, &f64)| {
            let whole = name == "flat_count";
            #[expect(clippy::cast_possible_truncation, reason = "checked to be a count")]
            let value = if whole { Value::from(*value as i64) } else { Value::from(*value) };
            (name.clone(), value)
        };
        Value::Object(self.limits.iter().map(number).collect::<Map<_, _>>())
    }

    fn problem(&self) -> Option<String> {
        let on = self.action.source();
        if self.on != on {
            return Some(format!("{} follows on = {} only", self.action.name(), Value::from(on.name())));
        }
        if self.on != Gathered::Telemetry {
            let stray = !self.reading.is_empty() || !self.limits.is_empty();
            return stray.then(|| "reading and limits are for on = \"telemetry\"".to_owned());
        }
        if self.reading.is_empty() {
            return Some("on = \"telemetry\" needs the name of a reading, such as reading = \"water_cm\"".to_owned());
        }
        if let Some(missing) = REQUIRED.iter().find(|name| !self.limits.contains_key(**name)) {
            return Some(format!("limits needs {missing}, such as limits = {{ min = 0, max = 900 }}"));
        }
        let known = |name: &str| REQUIRED.contains(&name) || OPTIONAL.contains(&name);
        if let Some(unknown) = self.limits.keys().find(|name| !known(name)) {
            return Some(format!(
                "limits has no {unknown}: known are {}, {}",
                REQUIRED.join(", "),
                OPTIONAL.join(", ")
            ));
        }
        if let Some((name, _)) = self.limits.iter().find(|(_, value)| !value.is_finite()) {
            return Some(format!("limits.{name} is no number"));
        }
        let of = |name: &str| self.limits.get(name).copied();
        if of("min") >= of("max") {
            return Some("limits.min is below limits.max".to_owned());
        }
        let counts = of("flat_count").is_none_or(|count| count.fract() == 0.0 && (2.0..=1_000.0).contains(&count));
        (!counts).then(|| "limits.flat_count is a whole number from 2 to 1000".to_owned())
    }
}

/// # Errors
/// A response cannot be used.
pub(super) fn check(responses: &[SentinelResponse]) -> Result<(), ConfigError> {
    let bad = |at: usize, why: String| ConfigError::Bad { setting: format!("governance.response, number {at}"), why };
    if responses.len() > MAX_RESPONSES {
        return Err(bad(responses.len(), format!("takes at most {MAX_RESPONSES} responses")));
    }
    let problems = responses.iter().enumerate().find_map(|(at, response)| Some((at + 1, response.problem()?)));
    problems.map_or(Ok(()), |(at, why)| Err(bad(at, why)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(text: &str) -> Result<(), String> {
        #[derive(Deserialize)]
        struct File {
            response: Vec<SentinelResponse>,
        }
        let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
        check(&file.response).map_err(|error| error.to_string())
    }

    #[test]
    fn responses_are_read_with_their_limits() {
        let text = "[[response]]\non = \"telemetry\"\nreading = \"water_cm\"\naction = \"device.quarantine\"\n\
                    limits = { min = 0, max = 900.5, flat_count = 5 }";
        assert_eq!(checked(text), Ok(()));
        let read: SentinelResponse = toml::from_str(text.trim_start_matches("[[response]]\n")).unwrap();
        assert_eq!(read.verdict, ResponseVerdict::Critical);
        assert_eq!(read.limits().to_string(), r#"{"flat_count":5,"max":900.5,"min":0.0}"#);
        assert_eq!(checked("[[response]]\non = \"tasks\"\naction = \"task.pause\"\nverdict = \"warn\""), Ok(()));
    }

    #[test]
    fn responses_that_cannot_be_used_are_reported_with_what_to_write() {
        let telemetry = |rest: &str| {
            checked(&format!("[[response]]\non = \"telemetry\"\naction = \"incident.report\"\n{rest}")).unwrap_err()
        };
        for (rest, word) in [
            ("", "needs the name of a reading"),
            ("reading = \"a\"", "limits needs min"),
            ("reading = \"a\"\nlimits = { min = 1, max = 1 }", "min is below"),
            ("reading = \"a\"\nlimits = { min = 1, max = 2, top = 3 }", "limits has no top"),
            ("reading = \"a\"\nlimits = { min = 1, max = inf }", "max is no number"),
            ("reading = \"a\"\nlimits = { min = 1, max = 2, flat_count = 2.5 }", "whole number"),
        ] {
            let why = telemetry(rest);
            assert!(why.contains(word) && why.contains("governance.response, number 1"), "{rest}: {why}");
        }
        let why = checked("[[response]]\non = \"logins\"\naction = \"task.kill\"").unwrap_err();
        assert!(why.contains("task.kill follows on = \"tasks\" only"), "{why}");
        assert!(checked("[[response]]\non = \"tasks\"\naction = \"task.pause\"\nreading = \"a\"").is_err());
        assert!(checked("[[response]]\non = \"tasks\"\naction = \"delete.all\"").is_err());
    }
}
