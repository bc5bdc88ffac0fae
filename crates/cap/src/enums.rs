//! CAP enumerations, each with exactly the values of section 3.2 of the standard.

use serde::{Deserialize, Serialize};

macro_rules! values {
    ($(#[$doc:meta])* $name:ident { $($value:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $(
                #[doc = concat!("`", $text, "`")]
                #[serde(rename = $text)]
                $value,
            )*
        }

        impl $name {
            /// All values, in the order of the standard.
            pub const ALL: &[Self] = &[$(Self::$value,)*];

            /// Returns the value as written in a CAP document.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $text,)*
                }
            }

            /// Parses a value. The comparison is case-sensitive.
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.name() == text)
            }
        }
    };
}

values! {
    /// Intended handling of an alert message.
    Status { Actual = "Actual", Exercise = "Exercise", System = "System", Test = "Test", Draft = "Draft", }
}
values! {
    /// Type of an alert message.
    MsgType { Alert = "Alert", Update = "Update", Cancel = "Cancel", Ack = "Ack", Error = "Error", }
}
values! {
    /// Intended distribution of an alert message.
    Scope { Public = "Public", Restricted = "Restricted", Private = "Private", }
}
values! {
    /// Category of the event that an alert is about.
    Category {
        Geo = "Geo",
        Met = "Met",
        Safety = "Safety",
        Security = "Security",
        Rescue = "Rescue",
        Fire = "Fire",
        Health = "Health",
        Env = "Env",
        Transport = "Transport",
        Infra = "Infra",
        Cbrne = "CBRNE",
        Other = "Other",
    }
}
values! {
    /// Recommended action for the target audience.
    ResponseType {
        Shelter = "Shelter",
        Evacuate = "Evacuate",
        Prepare = "Prepare",
        Execute = "Execute",
        Avoid = "Avoid",
        Monitor = "Monitor",
        Assess = "Assess",
        AllClear = "AllClear",
        None = "None",
    }
}
values! {
    /// Time available to prepare.
    Urgency { Immediate = "Immediate", Expected = "Expected", Future = "Future", Past = "Past", Unknown = "Unknown", }
}
values! {
    /// Intensity of the impact.
    Severity { Extreme = "Extreme", Severe = "Severe", Moderate = "Moderate", Minor = "Minor", Unknown = "Unknown", }
}
values! {
    /// Confidence in the observation or prediction. CAP 1.0's `Very Likely` is read as `Likely`, as the standard
    /// requires.
    Certainty { Observed = "Observed", Likely = "Likely", Possible = "Possible", Unlikely = "Unlikely", Unknown = "Unknown", }
}

impl Severity {
    /// Returns the rank that filters compare: 0 Unknown, 1 Minor, 2 Moderate, 3 Severe, 4 Extreme.
    pub const fn rank(self) -> u8 {
        match self {
            Self::Unknown => 0,
            Self::Minor => 1,
            Self::Moderate => 2,
            Self::Severe => 3,
            Self::Extreme => 4,
        }
    }
}
