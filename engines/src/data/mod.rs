//! Tables, documents and series (q105 to q121).

mod csv_profile;
mod format_convert;
mod json_diff_patch;
mod json_query;
mod json_schema_infer;
mod json_schema_validate;
mod json_transform;
mod stack;
#[cfg(feature = "tables")]
mod table_query;

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
];
