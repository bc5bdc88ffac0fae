//! Engines of the family data. Data wrangling: q105 to q121.

#![warn(missing_docs)]

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
mod table_query;
mod telemetry_decode;
mod unit_calculate;

muster_engine::family!(
    "data";
    105 csv_profile,
    106 table_query,
    107 json_query,
    108 json_transform,
    109 json_schema_validate,
    110 json_schema_infer,
    111 json_diff_patch,
    112 format_convert,
    113 record_linkage,
    114 unit_calculate,
    115 datetime_calculate,
    116 table_expectations,
    117 data_drift,
    118 series_resample,
    119 table_anonymise,
    120 contact_normalise,
    121 telemetry_decode,
);
