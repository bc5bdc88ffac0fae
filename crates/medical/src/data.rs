//! The data files, compiled in.

pub const ENGLISH: &str = include_str!("../data/lexicon/en.toml");
pub const EVERYONE: &str = include_str!("../data/everyone.toml");
pub const SELF_CARE: &str = include_str!("../data/self_care.toml");
pub const SPECIALTIES: &str = include_str!("../data/specialties.toml");

/// The lexicons of the other languages.
pub const LEXICONS: &[(&str, &str)] = &[];

/// The fixed sentences, by language.
pub const PHRASES: &[(&str, &str)] = &[
    ("en", include_str!("../data/phrases/en.toml")),
    ("es", include_str!("../data/phrases/es.toml")),
    ("fr", include_str!("../data/phrases/fr.toml")),
    ("de", include_str!("../data/phrases/de.toml")),
    ("it", include_str!("../data/phrases/it.toml")),
    ("pt", include_str!("../data/phrases/pt.toml")),
    ("nl", include_str!("../data/phrases/nl.toml")),
    ("pl", include_str!("../data/phrases/pl.toml")),
    ("tr", include_str!("../data/phrases/tr.toml")),
    ("ru", include_str!("../data/phrases/ru.toml")),
    ("ar", include_str!("../data/phrases/ar.toml")),
    ("zh", include_str!("../data/phrases/zh.toml")),
];

/// The protocols.
pub const PROTOCOLS: &[(&str, &str)] = &[
    ("acute-limb-ischaemia", include_str!("../data/protocols/acute-limb-ischaemia.toml")),
    ("adrenal-crisis", include_str!("../data/protocols/adrenal-crisis.toml")),
    ("aortic-dissection", include_str!("../data/protocols/aortic-dissection.toml")),
    ("asthma-acute", include_str!("../data/protocols/asthma-acute.toml")),
    ("burns", include_str!("../data/protocols/burns.toml")),
    ("cauda-equina", include_str!("../data/protocols/cauda-equina.toml")),
    ("copd-exac", include_str!("../data/protocols/copd-exac.toml")),
    ("crush-rhabdo", include_str!("../data/protocols/crush-rhabdo.toml")),
    ("dental-infection", include_str!("../data/protocols/dental-infection.toml")),
    ("dvt", include_str!("../data/protocols/dvt.toml")),
    ("giant-cell-arteritis", include_str!("../data/protocols/giant-cell-arteritis.toml")),
    ("head-injury", include_str!("../data/protocols/head-injury.toml")),
    ("headache-red-flags", include_str!("../data/protocols/headache-red-flags.toml")),
    ("heat-stroke", include_str!("../data/protocols/heat-stroke.toml")),
    ("hyperkalaemia", include_str!("../data/protocols/hyperkalaemia.toml")),
    ("hypoglycaemia", include_str!("../data/protocols/hypoglycaemia.toml")),
    ("hypothermia", include_str!("../data/protocols/hypothermia.toml")),
    ("major-trauma", include_str!("../data/protocols/major-trauma.toml")),
    ("mass-casualty", include_str!("../data/protocols/mass-casualty.toml")),
    ("meningitis", include_str!("../data/protocols/meningitis.toml")),
    ("palliative-crisis", include_str!("../data/protocols/palliative-crisis.toml")),
    ("pneumothorax", include_str!("../data/protocols/pneumothorax.toml")),
    ("radiation", include_str!("../data/protocols/radiation.toml")),
    ("ruptured-aaa", include_str!("../data/protocols/ruptured-aaa.toml")),
    ("sah", include_str!("../data/protocols/sah.toml")),
    ("septic-arthritis", include_str!("../data/protocols/septic-arthritis.toml")),
    ("thyroid-storm", include_str!("../data/protocols/thyroid-storm.toml")),
    ("tuberculosis", include_str!("../data/protocols/tuberculosis.toml")),
];

/// All data files with their names, in a fixed order.
pub fn files() -> impl Iterator<Item = (&'static str, &'static str)> {
    let single = [("en", ENGLISH), ("everyone", EVERYONE), ("self_care", SELF_CARE), ("specialties", SPECIALTIES)];
    single.into_iter().chain(LEXICONS.iter().copied()).chain(PHRASES.iter().copied()).chain(PROTOCOLS.iter().copied())
}
