//! What kind of incident it is, and the categories of CAP that follow from it where none are said.

use serde::{Deserialize, Serialize};

use crate::alert::Category;

/// After the OASIS Event Terms List, as far as the network tells them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IncidentKind {
    Flood,
    Wildfire,
    Earthquake,
    Storm,
    Landslide,
    Hazmat,
    Outage,
    Epidemic,
    MassCasualty,
    MissingPerson,
    Infrastructure,
    Other,
}

impl IncidentKind {
    /// How people say it: CAP's `event`.
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

    /// CAP's categories of such an incident.
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

    /// What an imported alert is about, by its first category; an event that names one of ours says it better.
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
