//! Engines of the family medical. Medical scores & public health: q214 to q236.
//!
//! The scores are those of `muster-medical`; an engine gives them the catalogue's fields. What is not known counts as
//! normal only where the record says so, and a warning gives the range that the score has without it.

#![warn(missing_docs)]

mod acid_base;
mod burn_resuscitation;
mod cancer_risk;
mod cardiovascular_risk;
mod chest_pain_risk;
mod child_nutrition;
mod diagnostic_test;
mod dosing_metrics;
mod drug_interactions;
mod early_warning_score;
mod kidney_function;
mod liver_severity;
mod mass_casualty_triage;
mod mental_screen;
mod outbreak_model;
mod paediatric_emergency;
mod pneumonia_severity;
mod rehydration_plan;
mod sepsis_sofa;
mod stroke_bleed_risk;
mod stroke_scale;
mod support;
mod trauma_severity;
mod vte_probability;

muster_engine::family!("medical";
    214 early_warning_score,
    215 sepsis_sofa,
    216 trauma_severity,
    217 mass_casualty_triage,
    218 burn_resuscitation,
    219 chest_pain_risk,
    220 vte_probability,
    221 stroke_bleed_risk,
    222 cardiovascular_risk,
    223 kidney_function,
    224 liver_severity,
    225 pneumonia_severity,
    226 stroke_scale,
    227 acid_base,
    228 drug_interactions,
    229 dosing_metrics,
    230 paediatric_emergency,
    231 child_nutrition,
    232 rehydration_plan,
    233 mental_screen,
    234 diagnostic_test,
    235 outbreak_model,
    236 cancer_risk,
);
