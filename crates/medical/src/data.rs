//! The data files, compiled in.

pub const ENGLISH: &str = include_str!("../data/lexicon/en.toml");
pub const EVERYONE: &str = include_str!("../data/everyone.toml");
pub const SELF_CARE: &str = include_str!("../data/self_care.toml");
pub const SPECIALTIES: &str = include_str!("../data/specialties.toml");

/// The lexicons of the other languages.
pub const LEXICONS: &[(&str, &str)] = &[];

/// The fixed sentences, by language.
pub const PHRASES: &[(&str, &str)] = &[];

/// The protocols.
pub const PROTOCOLS: &[(&str, &str)] = &[
    ("acute-limb-ischaemia", include_str!("../data/protocols/acute-limb-ischaemia.toml")),
    ("adrenal-crisis", include_str!("../data/protocols/adrenal-crisis.toml")),
    ("alcohol-withdrawal", include_str!("../data/protocols/alcohol-withdrawal.toml")),
    ("aortic-dissection", include_str!("../data/protocols/aortic-dissection.toml")),
    ("asthma-acute", include_str!("../data/protocols/asthma-acute.toml")),
    ("burns", include_str!("../data/protocols/burns.toml")),
    ("cauda-equina", include_str!("../data/protocols/cauda-equina.toml")),
    ("co-poisoning", include_str!("../data/protocols/co-poisoning.toml")),
    ("copd-exac", include_str!("../data/protocols/copd-exac.toml")),
    ("crush-rhabdo", include_str!("../data/protocols/crush-rhabdo.toml")),
    ("dehydration-child", include_str!("../data/protocols/dehydration-child.toml")),
    ("delirium", include_str!("../data/protocols/delirium.toml")),
    ("dental-infection", include_str!("../data/protocols/dental-infection.toml")),
    ("dvt", include_str!("../data/protocols/dvt.toml")),
    ("ectopic", include_str!("../data/protocols/ectopic.toml")),
    ("febrile-child", include_str!("../data/protocols/febrile-child.toml")),
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
    ("neonatal-sepsis", include_str!("../data/protocols/neonatal-sepsis.toml")),
    ("opioid-overdose", include_str!("../data/protocols/opioid-overdose.toml")),
    ("palliative-crisis", include_str!("../data/protocols/palliative-crisis.toml")),
    ("pneumothorax", include_str!("../data/protocols/pneumothorax.toml")),
    ("poisoning", include_str!("../data/protocols/poisoning.toml")),
    ("pph", include_str!("../data/protocols/pph.toml")),
    ("pre-eclampsia", include_str!("../data/protocols/pre-eclampsia.toml")),
    ("pyelonephritis", include_str!("../data/protocols/pyelonephritis.toml")),
    ("radiation", include_str!("../data/protocols/radiation.toml")),
    ("renal-colic", include_str!("../data/protocols/renal-colic.toml")),
    ("ruptured-aaa", include_str!("../data/protocols/ruptured-aaa.toml")),
    ("sah", include_str!("../data/protocols/sah.toml")),
    ("septic-arthritis", include_str!("../data/protocols/septic-arthritis.toml")),
    ("suicide-risk", include_str!("../data/protocols/suicide-risk.toml")),
    ("testicular-torsion", include_str!("../data/protocols/testicular-torsion.toml")),
    ("thyroid-storm", include_str!("../data/protocols/thyroid-storm.toml")),
    ("tuberculosis", include_str!("../data/protocols/tuberculosis.toml")),
];

/// All data files with their names, in a fixed order.
pub fn files() -> impl Iterator<Item = (&'static str, &'static str)> {
    let single = [("en", ENGLISH), ("everyone", EVERYONE), ("self_care", SELF_CARE), ("specialties", SPECIALTIES)];
    single.into_iter().chain(LEXICONS.iter().copied()).chain(PHRASES.iter().copied()).chain(PROTOCOLS.iter().copied())
}
