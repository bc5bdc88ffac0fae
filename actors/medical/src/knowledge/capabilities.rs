//! The self-tests of what the interface says that it can do.

use muster_medical::answer::Cites;
use muster_medical::answer::chat::consultation;
use muster_medical::assess::{Assessment, assess};
use muster_medical::base::Base;
use muster_medical::input::Input;
use muster_medical::languages;
use muster_medical::triage::Level;

/// Each is true if its self-test passes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// A red flag fires on its example, and its protocol is among those that are returned.
    pub clinical_cdss: bool,
    /// The consultation about it begins with the call for an ambulance.
    pub medical_ai: bool,
    /// A referral rule is met by its example.
    pub cancer_diagnosis: bool,
    /// A call to action for each level, and a lexicon, in every language that has fixed lines.
    pub multi_language: bool,
}

/// Number that stands for that of the emergency service in the test.
const NUMBER: &str = "112";

impl Capabilities {
    /// Runs the self-tests.
    #[must_use]
    pub(super) fn test(base: &Base) -> Self {
        Self {
            clinical_cdss: clinical(base),
            medical_ai: consults(base),
            cancer_diagnosis: muster_medical::self_test::cancer(base).is_ok(),
            multi_language: speaks(base),
        }
    }
}

/// An example of a red flag of the highest level that a protocol has, and that protocol.
fn example(base: &Base) -> Option<(&str, usize)> {
    base.protocols.iter().enumerate().find_map(|(at, protocol)| {
        let rules = protocol.rules.iter().filter_map(|rule| base.rules.get(*rule));
        let own = rules.filter(|rule| rule.level == Level::EmergencyAmbulance && rule.protocol == protocol.data.id);
        own.flat_map(|rule| &rule.positive).next().map(|text| (text.as_str(), at))
    })
}

fn assessed(base: &Base, text: &str) -> Option<(Input, Assessment)> {
    let input = Input { texts: vec![text.to_owned()], language: "en".to_owned(), ..Input::default() };
    let assessment = assess(base, &input).ok()?;
    Some((input, assessment))
}

fn clinical(base: &Base) -> bool {
    let tested = example(base).and_then(|(text, protocol)| {
        let (_, assessment) = assessed(base, text)?;
        let ranked = assessment.ranked.iter().any(|ranked| ranked.protocol == protocol);
        Some(ranked && assessment.triage.level == Some(Level::EmergencyAmbulance))
    });
    tested == Some(true)
}

fn consults(base: &Base) -> bool {
    let tested = example(base).and_then(|(text, _)| {
        let (input, assessment) = assessed(base, text)?;
        let level = Some(Level::EmergencyAmbulance);
        let call = base.phrases.of("en")?.call(level, assessment.triage.basis, NUMBER);
        let answer = consultation(base, &input, &assessment, NUMBER, &mut Cites::new(base));
        Some(assessment.triage.level == level && !call.is_empty() && answer.response.starts_with(&call))
    });
    tested == Some(true)
}

fn speaks(base: &Base) -> bool {
    let calls = |code: &&str| {
        let Some(spoken) = base.phrases.of(code).filter(|spoken| spoken.language() == *code) else { return false };
        Level::ALL.iter().all(|level| {
            let call = spoken.call(Some(*level), muster_medical::triage::Basis::RedFlags, NUMBER);
            !call.is_empty() && (*level < Level::Emergency || call.contains(NUMBER))
        })
    };
    let read = |code: &&str| base.lexicon.codes().any(|known| known == *code);
    !base.rules.is_empty() && languages::SPOKEN.iter().all(|code| calls(code) && read(code))
}
