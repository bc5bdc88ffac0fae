//! Settings of incidents and alerts.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::kind::IncidentKind;

macro_rules! radii {
    ($($(#[$doc:meta])* $field:ident: $kind:ident = $default:literal,)*) => {
        /// Radius of an alert whose incident is a point, in metres, by the kind of the incident.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct PointRadii {
            $($(#[$doc])* pub $field: u32,)*
        }

        impl Default for PointRadii {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl PointRadii {
            /// Returns the radius of a kind, in metres.
            pub const fn of(&self, kind: IncidentKind) -> u32 {
                match kind {
                    $(IncidentKind::$kind => self.$field,)*
                }
            }
        }
    };
}

radii! {
    /// Floods.
    flood: Flood = 5_000,
    /// Wildfires.
    wildfire: Wildfire = 10_000,
    /// Earthquakes.
    earthquake: Earthquake = 50_000,
    /// Storms.
    storm: Storm = 50_000,
    /// Landslides.
    landslide: Landslide = 2_000,
    /// Releases of hazardous material.
    hazmat: Hazmat = 3_000,
    /// Outages.
    outage: Outage = 10_000,
    /// Epidemics.
    epidemic: Epidemic = 20_000,
    /// Events with many casualties.
    mass_casualty: MassCasualty = 1_000,
    /// Missing people.
    missing_person: MissingPerson = 10_000,
    /// Failures of infrastructure.
    infrastructure: Infrastructure = 2_000,
    /// Other incidents.
    other: Other = 1_000,
}

impl PointRadii {
    /// Smallest and largest radius, in metres.
    pub const RANGE: std::ops::RangeInclusive<u32> = 10..=1_000_000;
}

/// Settings of incidents and alerts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncidentSettings {
    /// Time after which an acknowledgement without activation expires.
    pub ack_for: Duration,
    /// Time after which an unconfirmed proposal lapses.
    pub confirm_within: Duration,
    /// Time after which an imported message that refers to an unknown one is dropped.
    pub parked_for: Duration,
    /// Default validity of an alert.
    pub alert_for: Duration,
    /// Default radius of an alert whose incident is a point.
    pub point_radius_m: PointRadii,
    /// Time for which finished incidents stay in memory; later they are read from the store.
    pub keep_finished: Duration,
    /// CAP `sender`: globally unique name of this publisher, such as an e-mail address.
    pub sender: String,
    /// Name of the publisher for people.
    pub sender_name: String,
}

impl Default for IncidentSettings {
    fn default() -> Self {
        Self {
            ack_for: Duration::from_secs(30 * 60),
            confirm_within: Duration::from_secs(30 * 60),
            parked_for: Duration::from_secs(7 * 24 * 3600),
            alert_for: Duration::from_secs(24 * 3600),
            point_radius_m: PointRadii::default(),
            keep_finished: Duration::from_secs(90 * 24 * 3600),
            sender: "alerts@muster.local".to_owned(),
            sender_name: "Muster".to_owned(),
        }
    }
}
