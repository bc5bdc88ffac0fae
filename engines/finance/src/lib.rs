//! Engines of the family finance. Finance & cost: q122 to q130.

#![warn(missing_docs)]

mod assignment;
mod benford_audit;
mod carbon_footprint;
mod currencies;
mod currency_convert;
mod earned_value;
mod flood_loss;
mod iban;
mod ledger_reconcile;
mod loss_exceedance;
mod payment_id_validate;
mod project_appraisal;
mod support;

muster_engine::family!("finance";
    122 flood_loss,
    123 project_appraisal,
    124 loss_exceedance,
    125 earned_value,
    126 currency_convert,
    127 payment_id_validate,
    128 ledger_reconcile,
    129 benford_audit,
    130 carbon_footprint,
);
