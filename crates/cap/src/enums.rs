//! CAP's enumerations, each with exactly the values of section 3.2 of the standard.

use serde::{Deserialize, Serialize};

macro_rules! values {
    ($(#[$doc:meta])* $name:ident { $($value:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $(#[serde(rename = $text)] $value,)*
        }

        impl $name {
            /// Every value, in the order of the standard.
            pub const ALL: &[Self] = &[$(Self::$value,)*];

            /// The value as the standard writes it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $text,)*
                }
            }

            /// The value of that name; upper and lower case count.
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.name() == text)
            }
        }
    };
}

values! {
    /// How an alert is to be handled.
    Status { Actual = "Actual", Exercise = "Exercise", System = "System", Test = "Test", Draft = "Draft", }
}
values! {
    /// What a message is.
    MsgType { Alert = "Alert", Update = "Update", Cancel = "Cancel", Ack = "Ack", Error = "Error", }
}
values! {
    /// Whom a message is for.
    Scope { Public = "Public", Restricted = "Restricted", Private = "Private", }
}
values! {
    /// The kind of event.
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
    /// What the audience is to do.
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
    /// How soon.
    Urgency { Immediate = "Immediate", Expected = "Expected", Future = "Future", Past = "Past", Unknown = "Unknown", }
}
values! {
    /// How bad.
    Severity { Extreme = "Extreme", Severe = "Severe", Moderate = "Moderate", Minor = "Minor", Unknown = "Unknown", }
}
values! {
    /// How sure. CAP 1.0's `Very Likely` is read as `Likely`, as the standard asks.
    Certainty { Observed = "Observed", Likely = "Likely", Possible = "Possible", Unlikely = "Unlikely", Unknown = "Unknown", }
}

impl Severity {
    /// 0 Unknown, 1 Minor, 2 Moderate, 3 Severe, 4 Extreme: what filters compare.
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
