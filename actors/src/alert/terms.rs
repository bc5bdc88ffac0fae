//! The words of CAP 1.2 (OASIS, section 3.2), as incidents and alerts use them.

use serde::{Deserialize, Serialize};

macro_rules! terms {
    ($($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $term:ident = $text:literal,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$of])* #[serde(rename = $text)] $term,)*
        }

        impl $name {
            /// Every term, in the order of the enumeration.
            pub const ALL: &[Self] = &[$(Self::$term,)*];

            /// As CAP writes it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$term => $text,)*
                }
            }

            /// The term of that name.
            pub fn parse(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|term| term.name() == name)
            }
        }
    )*};
}

terms! {
    /// How a message is to be handled.
    Status {
        /// To be acted on by all who get it.
        Actual = "Actual",
        /// Only by those who take part in the exercise.
        Exercise = "Exercise",
        System = "System",
        Test = "Test",
        Draft = "Draft",
    }
    /// What a message is to the messages before it.
    MsgType {
        Alert = "Alert",
        Update = "Update",
        Cancel = "Cancel",
        Ack = "Ack",
        Error = "Error",
    }
    /// Whom a message is for.
    Scope {
        Public = "Public",
        /// Only those that `restriction` describes.
        Restricted = "Restricted",
        /// Only `addresses`.
        Private = "Private",
    }
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
    /// What its audience is to do.
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
    /// How soon to act.
    Urgency {
        Immediate = "Immediate",
        Expected = "Expected",
        Future = "Future",
        Past = "Past",
        Unknown = "Unknown",
    }
    /// How bad; ordered.
    Severity {
        Unknown = "Unknown",
        Minor = "Minor",
        Moderate = "Moderate",
        Severe = "Severe",
        Extreme = "Extreme",
    }
    Certainty {
        Observed = "Observed",
        Likely = "Likely",
        Possible = "Possible",
        Unlikely = "Unlikely",
        Unknown = "Unknown",
    }
}

impl Severity {
    /// 0 (Unknown) to 4 (Extreme), as the feed's filters count.
    pub const fn rank(self) -> u8 {
        self as u8
    }
}
