//! The data files, compiled in.

pub const ENGLISH: &str = include_str!("../data/lexicon/en.toml");
pub const EVERYONE: &str = include_str!("../data/everyone.toml");
pub const SELF_CARE: &str = include_str!("../data/self_care.toml");
pub const SPECIALTIES: &str = include_str!("../data/specialties.toml");

pub const NG12: &str = include_str!("../data/ng12.toml");
pub const USPSTF: &str = include_str!("../data/uspstf.toml");
pub const CANCER_MODELS: &str = include_str!("../data/constants/cancer_models.toml");
pub const BCRAT: &str = include_str!("../data/constants/bcrat.toml");

/// The rules and constants about cancer.
pub const CANCER: &[(&str, &str)] =
    &[("ng12", NG12), ("uspstf", USPSTF), ("cancer_models", CANCER_MODELS), ("bcrat", BCRAT)];

/// The lexicons of the other languages.
pub const LEXICONS: &[(&str, &str)] = &[
    ("ar", include_str!("../data/lexicon/ar.toml")),
    ("de", include_str!("../data/lexicon/de.toml")),
    ("es", include_str!("../data/lexicon/es.toml")),
    ("fr", include_str!("../data/lexicon/fr.toml")),
    ("it", include_str!("../data/lexicon/it.toml")),
    ("nl", include_str!("../data/lexicon/nl.toml")),
    ("pl", include_str!("../data/lexicon/pl.toml")),
    ("pt", include_str!("../data/lexicon/pt.toml")),
    ("ru", include_str!("../data/lexicon/ru.toml")),
    ("tr", include_str!("../data/lexicon/tr.toml")),
    ("zh", include_str!("../data/lexicon/zh.toml")),
];

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
    ("acs", include_str!("../data/protocols/acs.toml")),
    ("acute-abdomen", include_str!("../data/protocols/acute-abdomen.toml")),
    ("acute-limb-ischaemia", include_str!("../data/protocols/acute-limb-ischaemia.toml")),
    ("acute-liver-failure", include_str!("../data/protocols/acute-liver-failure.toml")),
    ("adrenal-crisis", include_str!("../data/protocols/adrenal-crisis.toml")),
    ("af-acute", include_str!("../data/protocols/af-acute.toml")),
    ("airway-ent", include_str!("../data/protocols/airway-ent.toml")),
    ("aki", include_str!("../data/protocols/aki.toml")),
    ("alcohol-withdrawal", include_str!("../data/protocols/alcohol-withdrawal.toml")),
    ("anaphylaxis", include_str!("../data/protocols/anaphylaxis.toml")),
    ("angle-closure", include_str!("../data/protocols/angle-closure.toml")),
    ("aortic-dissection", include_str!("../data/protocols/aortic-dissection.toml")),
    ("arrhythmia-unstable", include_str!("../data/protocols/arrhythmia-unstable.toml")),
    ("asthma-acute", include_str!("../data/protocols/asthma-acute.toml")),
    ("burns", include_str!("../data/protocols/burns.toml")),
    ("cap", include_str!("../data/protocols/cap.toml")),
    ("cardiac-arrest", include_str!("../data/protocols/cardiac-arrest.toml")),
    ("cauda-equina", include_str!("../data/protocols/cauda-equina.toml")),
    ("cellulitis", include_str!("../data/protocols/cellulitis.toml")),
    ("cholangitis", include_str!("../data/protocols/cholangitis.toml")),
    ("co-poisoning", include_str!("../data/protocols/co-poisoning.toml")),
    ("copd-exac", include_str!("../data/protocols/copd-exac.toml")),
    ("cord-compression", include_str!("../data/protocols/cord-compression.toml")),
    ("crush-rhabdo", include_str!("../data/protocols/crush-rhabdo.toml")),
    ("dehydration-child", include_str!("../data/protocols/dehydration-child.toml")),
    ("delirium", include_str!("../data/protocols/delirium.toml")),
    ("dengue", include_str!("../data/protocols/dengue.toml")),
    ("dental-infection", include_str!("../data/protocols/dental-infection.toml")),
    ("dka", include_str!("../data/protocols/dka.toml")),
    ("dvt", include_str!("../data/protocols/dvt.toml")),
    ("ectopic", include_str!("../data/protocols/ectopic.toml")),
    ("febrile-child", include_str!("../data/protocols/febrile-child.toml")),
    ("febrile-neutropenia", include_str!("../data/protocols/febrile-neutropenia.toml")),
    ("giant-cell-arteritis", include_str!("../data/protocols/giant-cell-arteritis.toml")),
    ("head-injury", include_str!("../data/protocols/head-injury.toml")),
    ("headache-red-flags", include_str!("../data/protocols/headache-red-flags.toml")),
    ("heat-stroke", include_str!("../data/protocols/heat-stroke.toml")),
    ("hf-acute", include_str!("../data/protocols/hf-acute.toml")),
    ("hyperkalaemia", include_str!("../data/protocols/hyperkalaemia.toml")),
    ("hypertensive-emergency", include_str!("../data/protocols/hypertensive-emergency.toml")),
    ("hypoglycaemia", include_str!("../data/protocols/hypoglycaemia.toml")),
    ("hypothermia", include_str!("../data/protocols/hypothermia.toml")),
    ("major-trauma", include_str!("../data/protocols/major-trauma.toml")),
    ("malaria", include_str!("../data/protocols/malaria.toml")),
    ("mass-casualty", include_str!("../data/protocols/mass-casualty.toml")),
    ("meningitis", include_str!("../data/protocols/meningitis.toml")),
    ("neonatal-sepsis", include_str!("../data/protocols/neonatal-sepsis.toml")),
    ("opioid-overdose", include_str!("../data/protocols/opioid-overdose.toml")),
    ("palliative-crisis", include_str!("../data/protocols/palliative-crisis.toml")),
    ("pancreatitis", include_str!("../data/protocols/pancreatitis.toml")),
    ("pe", include_str!("../data/protocols/pe.toml")),
    ("pneumothorax", include_str!("../data/protocols/pneumothorax.toml")),
    ("poisoning", include_str!("../data/protocols/poisoning.toml")),
    ("pph", include_str!("../data/protocols/pph.toml")),
    ("pre-eclampsia", include_str!("../data/protocols/pre-eclampsia.toml")),
    ("pyelonephritis", include_str!("../data/protocols/pyelonephritis.toml")),
    ("radiation", include_str!("../data/protocols/radiation.toml")),
    ("renal-colic", include_str!("../data/protocols/renal-colic.toml")),
    ("ruptured-aaa", include_str!("../data/protocols/ruptured-aaa.toml")),
    ("sah", include_str!("../data/protocols/sah.toml")),
    ("sepsis", include_str!("../data/protocols/sepsis.toml")),
    ("septic-arthritis", include_str!("../data/protocols/septic-arthritis.toml")),
    ("sickle-crisis", include_str!("../data/protocols/sickle-crisis.toml")),
    ("sjs-ten", include_str!("../data/protocols/sjs-ten.toml")),
    ("status-epilepticus", include_str!("../data/protocols/status-epilepticus.toml")),
    ("stroke", include_str!("../data/protocols/stroke.toml")),
    ("suicide-risk", include_str!("../data/protocols/suicide-risk.toml")),
    ("suspected-cancer", include_str!("../data/protocols/suspected-cancer.toml")),
    ("testicular-torsion", include_str!("../data/protocols/testicular-torsion.toml")),
    ("tetanus", include_str!("../data/protocols/tetanus.toml")),
    ("thyroid-storm", include_str!("../data/protocols/thyroid-storm.toml")),
    ("tuberculosis", include_str!("../data/protocols/tuberculosis.toml")),
    ("upper-gi-bleed", include_str!("../data/protocols/upper-gi-bleed.toml")),
];

/// All data files with their names, in a fixed order.
pub fn files() -> impl Iterator<Item = (&'static str, &'static str)> {
    let single = [("en", ENGLISH), ("everyone", EVERYONE), ("self_care", SELF_CARE), ("specialties", SPECIALTIES)];
    let single = single.into_iter().chain(CANCER.iter().copied());
    single.chain(LEXICONS.iter().copied()).chain(PHRASES.iter().copied()).chain(PROTOCOLS.iter().copied())
}
