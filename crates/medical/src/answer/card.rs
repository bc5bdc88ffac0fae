//! Cards as CDS Hooks 2.0 defines them.

use crate::base::Base;
use crate::rank::Ranked;
use crate::triage::{Fired, Level};
use serde::Serialize;

#[derive(Debug, Clone, Serialize)]
pub struct CardSource {
    pub label: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Card {
    pub uuid: String,
    pub summary: String,
    pub detail: String,
    pub indicator: &'static str,
    pub source: CardSource,
}

/// The longest summary that the specification allows is 139 characters.
fn summary(text: &str) -> String {
    if text.chars().count() < 140 { text.to_owned() } else { text.chars().take(138).chain(['…']).collect() }
}

/// One card a fired rule, one a top protocol. `salt` makes the ids of one
/// answer its own.
#[must_use]
pub fn cards(base: &Base, fired: &[Fired], ranked: &[Ranked], salt: &str) -> Vec<Card> {
    let mut cards = Vec::new();
    for f in fired {
        let Some(rule) = base.rules.get(f.rule) else { continue };
        let source = base.sources.get(&rule.source);
        let level = base.phrases.of("en").map_or("", |p| p.label(rule.level));
        cards.push(Card {
            uuid: uuid(salt, &rule.id),
            summary: summary(&rule.message),
            detail: format!("{level}. Rule {} of {}.", rule.id, rule.protocol),
            indicator: if rule.level == Level::EmergencyAmbulance { "critical" } else { "warning" },
            source: CardSource {
                label: source.map_or_else(|| rule.source.clone(), |s| format!("{} {}", s.org, s.year)),
                url: source.map(|s| s.url.clone()),
            },
        });
    }
    for r in ranked.iter().filter(|r| r.fired.is_empty()).take(3) {
        let Some(protocol) = base.protocols.get(r.protocol) else { continue };
        let source = protocol.data.sources.first();
        cards.push(Card {
            uuid: uuid(salt, &protocol.data.id),
            summary: summary(&protocol.data.title),
            detail: format!("Match strength {} of 100, not a probability.", r.score),
            indicator: "info",
            source: CardSource {
                label: source.map_or_else(|| protocol.data.id.clone(), |s| format!("{} {}", s.org, s.year)),
                url: source.map(|s| s.url.clone()),
            },
        });
    }
    cards
}

/// A name-based UUID (version 8): this crate has no random numbers.
fn uuid(salt: &str, name: &str) -> String {
    let hash = |seed: u64| {
        salt.bytes().chain([0]).chain(name.bytes()).fold(seed, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
    };
    let (a, b) = (hash(0xcbf2_9ce4_8422_2325), hash(0x9ae1_6a3b_2f90_404f));
    let b = (b & 0x3fff_ffff_ffff_ffff) | 0x8000_0000_0000_0000;
    let a = (a & 0xffff_ffff_ffff_0fff) | 0x8000;
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        a >> 32,
        (a >> 16) & 0xffff,
        a & 0xffff,
        b >> 48,
        b & 0xffff_ffff_ffff
    )
}
