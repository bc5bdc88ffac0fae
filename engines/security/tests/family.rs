//! Each engine against the catalogue, its vector, its cases and random inputs.

muster_engine::family_tests!(muster_engines_security::FAMILY; cases_in_code 141, 150, 151);
