//! Kinds of incidents, and the CAP categories that follow from them.

use serde::{Deserialize, Serialize};

use crate::alert::Category;

/// Kind of an incident, a subset of the OASIS Event Terms List.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IncidentKind {
    /// Flood.
    Flood,
    /// Wildfire.
    Wildfire,
    /// Earthquake.
    Earthquake,
    /// Storm, hurricane or tornado.
    Storm,
    /// Landslide.
    Landslide,
    /// Release of hazardous material.
    Hazmat,
    /// Outage of a utility or service.
    Outage,
    /// Epidemic.
    Epidemic,
    /// Event with many casualties.
    MassCasualty,
    /// Missing person.
    MissingPerson,
    /// Failure of infrastructure.
    Infrastructure,
    /// Any other incident.
    Other,
}

impl IncidentKind {
    /// All kinds.
    pub const ALL: &[Self] = &[
        Self::Flood,
        Self::Wildfire,
        Self::Earthquake,
        Self::Storm,
        Self::Landslide,
        Self::Hazmat,
        Self::Outage,
        Self::Epidemic,
        Self::MassCasualty,
        Self::MissingPerson,
        Self::Infrastructure,
        Self::Other,
    ];

    /// Returns the name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flood => "flood",
            Self::Wildfire => "wildfire",
            Self::Earthquake => "earthquake",
            Self::Storm => "storm",
            Self::Landslide => "landslide",
            Self::Hazmat => "hazmat",
            Self::Outage => "outage",
            Self::Epidemic => "epidemic",
            Self::MassCasualty => "mass_casualty",
            Self::MissingPerson => "missing_person",
            Self::Infrastructure => "infrastructure",
            Self::Other => "other",
        }
    }

    /// Returns the CAP `event`.
    pub const fn event(self) -> &'static str {
        match self {
            Self::Flood => "Flood",
            Self::Wildfire => "Wildfire",
            Self::Earthquake => "Earthquake",
            Self::Storm => "Storm",
            Self::Landslide => "Landslide",
            Self::Hazmat => "Hazardous material",
            Self::Outage => "Outage",
            Self::Epidemic => "Epidemic",
            Self::MassCasualty => "Mass casualty",
            Self::MissingPerson => "Missing person",
            Self::Infrastructure => "Infrastructure failure",
            Self::Other => "Incident",
        }
    }

    /// Returns the default CAP categories.
    pub const fn categories(self) -> &'static [Category] {
        match self {
            Self::Flood | Self::Storm => &[Category::Met],
            Self::Wildfire => &[Category::Fire],
            Self::Earthquake | Self::Landslide => &[Category::Geo],
            Self::Hazmat => &[Category::Cbrne],
            Self::Outage | Self::Infrastructure => &[Category::Infra],
            Self::Epidemic => &[Category::Health],
            Self::MassCasualty | Self::MissingPerson => &[Category::Rescue],
            Self::Other => &[Category::Other],
        }
    }

    /// Returns the kind of an imported alert by its event, or by its first category if the event names none of the
    /// kinds.
    pub fn of(event: &str, categories: &[Category]) -> Self {
        const NAMED: [(&str, IncidentKind); 9] = [
            ("flood", IncidentKind::Flood),
            ("fire", IncidentKind::Wildfire),
            ("earthquake", IncidentKind::Earthquake),
            ("storm", IncidentKind::Storm),
            ("hurricane", IncidentKind::Storm),
            ("tornado", IncidentKind::Storm),
            ("landslide", IncidentKind::Landslide),
            ("outage", IncidentKind::Outage),
            ("epidemic", IncidentKind::Epidemic),
        ];
        let event = event.to_lowercase();
        let named = NAMED.iter().find(|(word, _)| event.contains(word)).map(|&(_, kind)| kind);
        named.unwrap_or_else(|| match categories.first() {
            Some(Category::Fire) => Self::Wildfire,
            Some(Category::Health) => Self::Epidemic,
            Some(Category::Cbrne) => Self::Hazmat,
            Some(Category::Infra | Category::Transport) => Self::Infrastructure,
            _ => Self::Other,
        })
    }
}
