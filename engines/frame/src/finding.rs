//! The catalogue's `finding` type.

use serde_json::{Map, Value};

use crate::wire::{FromValue, Members, Mismatch, Shape, ToValue, Words};

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// A small risk.
    Low,
    /// A risk that should be mended.
    Medium,
    /// A serious risk.
    High,
    /// An immediate danger.
    Critical,
}

impl Words for Severity {
    const ALL: &'static [(Self, &'static str)] = &[
        (Self::Info, "info"),
        (Self::Low, "low"),
        (Self::Medium, "medium"),
        (Self::High, "high"),
        (Self::Critical, "critical"),
    ];

    fn word(&self) -> &'static str {
        Self::ALL.iter().find(|(severity, _)| severity == self).map_or("info", |(_, word)| word)
    }
}

impl FromValue for Severity {
    fn shape() -> Shape {
        Shape::Words(words())
    }

    fn from_value(value: Value) -> Result<Self, Mismatch> {
        let named = |text: &str| Self::ALL.iter().find(|(_, word)| *word == text).map(|(severity, _)| *severity);
        value.as_str().and_then(named).ok_or_else(|| Mismatch::words(&words()))
    }
}

fn words() -> Vec<&'static str> {
    Severity::ALL.iter().map(|(_, word)| *word).collect()
}

impl ToValue for Severity {
    fn shape() -> Shape {
        <Self as FromValue>::shape()
    }

    fn to_value(self) -> Value {
        self.word().into()
    }
}

/// Something that a check found. The evidence never contains a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Id of the rule.
    pub rule: String,
    /// How bad it is.
    pub severity: Severity,
    /// What was found, and how to mend it.
    pub message: String,
    /// Where, such as `file:line:column`.
    pub location: Option<String>,
    /// What shows it, redacted.
    pub evidence: Option<String>,
}

impl FromValue for Finding {
    fn shape() -> Shape {
        Shape::Finding
    }

    fn from_value(value: Value) -> Result<Self, Mismatch> {
        let mut members = Members::of(value)?;
        Ok(Self {
            rule: members.required("rule")?,
            severity: members.required("severity")?,
            message: members.required("message")?,
            location: members.optional("location")?,
            evidence: members.optional("evidence")?,
        })
    }
}

impl ToValue for Finding {
    fn shape() -> Shape {
        Shape::Finding
    }

    fn to_value(self) -> Value {
        let mut members = Map::new();
        members.insert("rule".to_owned(), self.rule.into());
        members.insert("severity".to_owned(), self.severity.to_value());
        members.insert("message".to_owned(), self.message.into());
        for (name, value) in [("location", self.location), ("evidence", self.evidence)] {
            if let Some(value) = value {
                members.insert(name.to_owned(), value.into());
            }
        }
        Value::Object(members)
    }
}
