//! Texts of messages that follow an alert, by language and occasion: an update, an all-clear, a cancellation.
//!
//! A follow-up has its own headline and instruction: who reads the words of the danger again acts on the danger again.

use super::record::{AlertInfo, AlertRecord};
use crate::incident::IncidentKind;
use muster_cap::MsgType;
use muster_core::Millis;

/// Language of texts in no other language.
const DEFAULT_LANGUAGE: &str = "en-US";
/// Largest number of characters of a headline.
const HEADLINE: usize = 200;

/// Why a message follows an alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    /// The danger is over.
    AllClear,
    /// The alert was a false alarm.
    FalseAlarm,
    /// The alert is called off.
    Canceled,
    /// Another alert covers the same event.
    Duplicate,
}

impl Occasion {
    /// All occasions.
    #[cfg(test)]
    pub const ALL: [Self; 4] = [Self::AllClear, Self::FalseAlarm, Self::Canceled, Self::Duplicate];
}

/// Headline, description and instruction of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowUpText {
    /// Language tag of the texts.
    pub language: String,
    /// Headline.
    pub headline: String,
    /// Description.
    pub description: String,
    /// Instruction.
    pub instruction: String,
}

/// The words of one language. `{event}`, `{area}` and `{sent}` stand for those of the alert that is followed.
struct Words {
    /// Primary subtag of the language.
    language: &'static str,
    update: &'static str,
    all_clear: &'static str,
    canceled: &'static str,
    /// Description of an all-clear.
    over: &'static str,
    /// Descriptions of a Cancel.
    false_alarm: &'static str,
    called_off: &'static str,
    duplicate: &'static str,
    /// Instruction of an end.
    no_instruction: &'static str,
    /// Instruction of the Cancel of a duplicate.
    other_alerts: &'static str,
    /// Names of the kinds, in the order of [`IncidentKind::ALL`].
    kinds: [&'static str; 12],
}

static LANGUAGES: [Words; 5] = [
    Words {
        language: "en",
        update: "Update",
        all_clear: "All clear",
        canceled: "Cancelled",
        over: "The alert of {sent} for {area} has ended. The danger is over.",
        false_alarm: "The alert of {sent} for {area} is cancelled. It was a false alarm.",
        called_off: "The alert of {sent} for {area} is cancelled.",
        duplicate: "The alert of {sent} for {area} is cancelled because another alert covers the same event.",
        no_instruction: "Its instructions no longer apply.",
        other_alerts: "Follow the other alerts for this area.",
        kinds: [
            "Flood",
            "Wildfire",
            "Earthquake",
            "Storm",
            "Landslide",
            "Hazardous material",
            "Outage",
            "Epidemic",
            "Mass casualty",
            "Missing person",
            "Infrastructure failure",
            "Incident",
        ],
    },
    Words {
        language: "de",
        update: "Aktualisierung",
        all_clear: "Entwarnung",
        canceled: "Aufgehoben",
        over: "Die Warnung vom {sent} für {area} ist beendet. Die Gefahr ist vorüber.",
        false_alarm: "Die Warnung vom {sent} für {area} ist aufgehoben. Es war ein Fehlalarm.",
        called_off: "Die Warnung vom {sent} für {area} ist aufgehoben.",
        duplicate: "Die Warnung vom {sent} für {area} ist aufgehoben, weil eine andere Warnung dasselbe Ereignis betrifft.",
        no_instruction: "Ihre Anweisungen gelten nicht mehr.",
        other_alerts: "Beachten Sie die anderen Warnungen für dieses Gebiet.",
        kinds: [
            "Hochwasser",
            "Waldbrand",
            "Erdbeben",
            "Sturm",
            "Erdrutsch",
            "Gefahrstoffaustritt",
            "Ausfall",
            "Epidemie",
            "Massenanfall von Verletzten",
            "Vermisste Person",
            "Ausfall der Infrastruktur",
            "Ereignis",
        ],
    },
    Words {
        language: "fr",
        update: "Mise à jour",
        all_clear: "Fin d’alerte",
        canceled: "Alerte annulée",
        over: "L’alerte du {sent} pour {area} est terminée. Le danger est passé.",
        false_alarm: "L’alerte du {sent} pour {area} est annulée. Il s’agissait d’une fausse alerte.",
        called_off: "L’alerte du {sent} pour {area} est annulée.",
        duplicate: "L’alerte du {sent} pour {area} est annulée, car une autre alerte concerne le même événement.",
        no_instruction: "Ses consignes ne s’appliquent plus.",
        other_alerts: "Suivez les autres alertes pour cette zone.",
        kinds: [
            "Inondation",
            "Feu de forêt",
            "Séisme",
            "Tempête",
            "Glissement de terrain",
            "Matières dangereuses",
            "Panne",
            "Épidémie",
            "Accident à nombreuses victimes",
            "Personne disparue",
            "Défaillance d’infrastructure",
            "Événement",
        ],
    },
    Words {
        language: "es",
        update: "Actualización",
        all_clear: "Fin de la alerta",
        canceled: "Alerta cancelada",
        over: "La alerta del {sent} para {area} ha terminado. El peligro ha pasado.",
        false_alarm: "La alerta del {sent} para {area} queda cancelada. Fue una falsa alarma.",
        called_off: "La alerta del {sent} para {area} queda cancelada.",
        duplicate: "La alerta del {sent} para {area} queda cancelada porque otra alerta se refiere al mismo suceso.",
        no_instruction: "Sus instrucciones ya no son válidas.",
        other_alerts: "Siga las demás alertas para esta zona.",
        kinds: [
            "Inundación",
            "Incendio forestal",
            "Terremoto",
            "Tormenta",
            "Deslizamiento de tierra",
            "Materiales peligrosos",
            "Interrupción del servicio",
            "Epidemia",
            "Accidente con múltiples víctimas",
            "Persona desaparecida",
            "Fallo de infraestructura",
            "Suceso",
        ],
    },
    Words {
        language: "it",
        update: "Aggiornamento",
        all_clear: "Cessato allarme",
        canceled: "Allerta annullata",
        over: "L’allerta del {sent} per {area} è terminata. Il pericolo è passato.",
        false_alarm: "L’allerta del {sent} per {area} è annullata. Si trattava di un falso allarme.",
        called_off: "L’allerta del {sent} per {area} è annullata.",
        duplicate: "L’allerta del {sent} per {area} è annullata perché un’altra allerta riguarda lo stesso evento.",
        no_instruction: "Le sue istruzioni non sono più valide.",
        other_alerts: "Seguire le altre allerte per questa zona.",
        kinds: [
            "Alluvione",
            "Incendio boschivo",
            "Terremoto",
            "Tempesta",
            "Frana",
            "Sostanze pericolose",
            "Interruzione del servizio",
            "Epidemia",
            "Incidente con molte vittime",
            "Persona scomparsa",
            "Guasto infrastrutturale",
            "Evento",
        ],
    },
];

fn words(language: &str) -> Option<&'static Words> {
    let primary = language.split('-').next().unwrap_or_default();
    LANGUAGES.iter().find(|words| words.language.eq_ignore_ascii_case(primary))
}

/// Returns the words of a language and the tag of the texts made of them: English where there are no words.
fn words_or_english(language: &str) -> (&'static Words, &str) {
    let [english, ..] = &LANGUAGES;
    words(language).map_or((english, DEFAULT_LANGUAGE), |words| (words, language))
}

/// Returns the texts of the message that ends an alert. `ended` is the alert's content, `sent` its time of sending.
pub fn end(occasion: Occasion, language: &str, kind: IncidentKind, ended: &AlertInfo, sent: Millis) -> FollowUpText {
    let (words, tag) = words_or_english(language);
    let (label, description, instruction) = match occasion {
        Occasion::AllClear => (words.all_clear, words.over, words.no_instruction),
        Occasion::FalseAlarm => (words.canceled, words.false_alarm, words.no_instruction),
        Occasion::Canceled => (words.canceled, words.called_off, words.no_instruction),
        Occasion::Duplicate => (words.canceled, words.duplicate, words.other_alerts),
    };
    let event = IncidentKind::ALL.iter().zip(words.kinds).find(|(named, _)| **named == kind).map_or("", |(_, it)| it);
    let area = ended.area_desc.as_deref().unwrap_or(event);
    let stamp = sent.rfc3339();
    let (day, time) = stamp.split_once('T').unwrap_or((&stamp, ""));
    let sent = format!("{day} {} UTC", time.get(..5).unwrap_or_default());
    FollowUpText {
        language: tag.to_owned(),
        headline: short(&format!("{label}: {event}, {area}")),
        description: description.replace("{sent}", &sent).replace("{area}", area),
        instruction: instruction.to_owned(),
    }
}

/// Returns the headline of an Update that follows a message with this headline, in its language.
pub fn update_headline(language: &str, headline: &str) -> String {
    let (words, _) = words_or_english(language);
    let label = format!("{}: ", words.update);
    short(&format!("{label}{}", headline.strip_prefix(&label).unwrap_or(headline)))
}

/// Returns the title of a message in a list of alerts: its headline behind what it is, unless the headline says so.
pub fn title(alert: &AlertRecord) -> String {
    let info = alert.info.as_ref();
    let headline = info.map(|info| info.headline.as_deref().unwrap_or(&info.event)).unwrap_or(&alert.identifier);
    let (words, _) = words_or_english(info.map_or(DEFAULT_LANGUAGE, |info| &info.language));
    let label = match alert.msg_type {
        MsgType::Cancel => words.canceled,
        _ if alert.is_end() => words.all_clear,
        MsgType::Update => words.update,
        MsgType::Alert | MsgType::Ack | MsgType::Error => return headline.to_owned(),
    };
    let says = |label: &str| headline.to_lowercase().starts_with(&label.to_lowercase());
    if says(label) { headline.to_owned() } else { format!("{label}: {headline}") }
}

fn short(text: &str) -> String {
    if text.chars().count() <= HEADLINE {
        return text.to_owned();
    }
    text.chars().take(HEADLINE - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alert::{Certainty, Severity, Urgency};

    fn danger() -> AlertInfo {
        AlertInfo {
            language: "en-US".to_owned(),
            event: "Flood".to_owned(),
            category: Vec::new(),
            response_types: Vec::new(),
            urgency: Urgency::Immediate,
            severity: Severity::Extreme,
            certainty: Certainty::Observed,
            audience: None,
            effective: None,
            onset: None,
            expires: None,
            sender_name: None,
            headline: Some("Leave the lower town".to_owned()),
            description: Some("Knee deep.".to_owned()),
            instruction: Some("Go to the school on the hill.".to_owned()),
            web: None,
            contact: None,
            area_desc: Some("Rossdorf".to_owned()),
            geometry: None,
            bbox: None,
            geocodes: Vec::new(),
        }
    }

    // 2026-11-23T08:05:00Z by `date -u -d @1795421100`.
    const SENT: Millis = Millis(1_795_421_100_000);

    #[test]
    fn an_end_has_words_of_its_own_in_the_language_of_the_alert() {
        let text = end(Occasion::AllClear, "en-GB", IncidentKind::Flood, &danger(), SENT);
        assert_eq!((text.language.as_str(), text.headline.as_str()), ("en-GB", "All clear: Flood, Rossdorf"));
        assert_eq!(text.description, "The alert of 2026-11-23 08:05 UTC for Rossdorf has ended. The danger is over.");
        let text = end(Occasion::FalseAlarm, "de", IncidentKind::Flood, &danger(), SENT);
        assert_eq!((text.language.as_str(), text.headline.as_str()), ("de", "Aufgehoben: Hochwasser, Rossdorf"));
        assert!(text.description.ends_with("Es war ein Fehlalarm."), "{}", text.description);
        let unknown = end(Occasion::Canceled, "eo", IncidentKind::Flood, &danger(), SENT);
        assert_eq!((unknown.language.as_str(), unknown.headline.as_str()), ("en-US", "Cancelled: Flood, Rossdorf"));
    }

    #[test]
    fn no_text_has_a_placeholder_left_or_words_of_the_danger() {
        let danger = danger();
        for words in &LANGUAGES {
            for occasion in Occasion::ALL {
                for kind in IncidentKind::ALL {
                    let text = end(occasion, words.language, *kind, &danger, SENT);
                    let whole = format!("{} {} {}", text.headline, text.description, text.instruction);
                    assert!(!whole.contains(['{', '}']), "{whole}");
                    for own in [&danger.headline, &danger.instruction, &danger.description] {
                        assert!(!whole.contains(own.as_deref().unwrap()), "{whole}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_headline_of_an_update_is_labelled_once_and_long_ones_are_cut() {
        let once = update_headline("de-DE", "Straßen überflutet");
        assert_eq!(once, "Aktualisierung: Straßen überflutet");
        assert_eq!(update_headline("de-DE", &once), once);
        assert_eq!(update_headline("en", &"ä".repeat(300)).chars().count(), HEADLINE);
    }
}
