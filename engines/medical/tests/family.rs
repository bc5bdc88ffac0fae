//! Each engine against the catalogue, its vector, its cases and random inputs.

muster_engine::family_tests!(muster_engines_medical::FAMILY);
