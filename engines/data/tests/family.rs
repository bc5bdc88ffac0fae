//! Each engine against the catalogue, its vector, its cases and random inputs.

muster_engine::family_tests!(muster_engines_data::FAMILY; cases_in_code 105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115, 116, 117, 118, 119, 120, 121);
