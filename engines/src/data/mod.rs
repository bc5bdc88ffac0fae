//! Tables, documents and series (q105 to q121).

#[cfg(feature = "contacts")]
mod contact_normalise;
mod data_drift;
mod datetime_calculate;
mod json_schema_validate;
mod record_linkage;
mod series_resample;
mod table_anonymise;
mod table_expectations;
mod telemetry_decode;
mod unit_calculate;

use crate::Engine;

/// The engines of this family, by number.
pub static ENGINES: &[&Engine] = &[
    &json_schema_validate::ENGINE,
    &record_linkage::ENGINE,
    &unit_calculate::ENGINE,
    &datetime_calculate::ENGINE,
    &table_expectations::ENGINE,
    &data_drift::ENGINE,
    &series_resample::ENGINE,
    &table_anonymise::ENGINE,
    #[cfg(feature = "contacts")]
    &contact_normalise::ENGINE,
    &telemetry_decode::ENGINE,
];
