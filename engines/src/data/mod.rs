//! Tables, documents and series (q105 to q121).

#[cfg(feature = "contacts")]
mod contact_normalise;
mod csv_profile;
mod data_drift;
mod datetime_calculate;
mod format_convert;
mod json_diff_patch;
mod json_query;
mod json_schema_infer;
mod json_schema_validate;
mod json_transform;
mod record_linkage;
mod series_resample;
mod table_anonymise;
mod table_expectations;
#[cfg(feature = "tables")]
mod table_query;
mod telemetry_decode;
mod unit_calculate;

use crate::Engine;

/// The engines of this family, by number.
pub static ENGINES: &[&Engine] = &[
    &csv_profile::ENGINE,
    #[cfg(feature = "tables")]
    &table_query::ENGINE,
    &json_query::ENGINE,
    &json_transform::ENGINE,
    &json_schema_validate::ENGINE,
    &json_schema_infer::ENGINE,
    &json_diff_patch::ENGINE,
    &format_convert::ENGINE,
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
