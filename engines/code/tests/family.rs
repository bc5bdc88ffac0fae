//! Each engine against the catalogue, its vector, its cases and random inputs.

muster_engine::family_tests!(muster_engines_code::FAMILY; cases_in_code 187, 188, 189, 190, 191, 192, 193, 194, 195, 196, 197, 198, 199, 200, 201, 202);
