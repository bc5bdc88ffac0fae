//! The registry over all families. Each family tests its own engines.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test's helpers may fail it"
)]

use std::collections::HashSet;

use muster_engines::{Family, all, by_id, by_number, registry, vector};

#[test]
fn numbers_and_ids_are_unique_and_in_the_family_of_their_block() {
    let (mut numbers, mut ids) = (HashSet::new(), HashSet::new());
    for engine in all() {
        assert!(numbers.insert(engine.number), "q{} is there twice", engine.number);
        assert!(ids.insert(engine.id), "{} is there twice", engine.id);
        assert_eq!(Family::of_number(engine.number), Some(engine.family), "{}", engine.id);
        assert_eq!(by_number(engine.number).map(|found| found.id), Some(engine.id));
        assert_eq!(by_id(engine.id).map(|found| found.number), Some(engine.number));
    }
    assert_eq!(by_number(0).map(|engine| engine.id), None);
}

/// A catalogue that cannot be read has no engines: each registration has its engine, and each engine its vector.
#[test]
fn every_registration_is_an_engine_with_a_vector() {
    for family in registry::families() {
        assert_eq!(family.engines().len(), family.registrations().len(), "{}", family.name());
        for engine in family.engines() {
            assert!(vector::of(engine).is_some(), "{}", engine.id);
        }
    }
    assert_eq!(registry::counts().map(|(_, count)| count).sum::<usize>(), all().count());
}

#[test]
fn every_schema_is_valid() {
    for engine in all() {
        assert!(jsonschema::meta::is_valid(&engine.input_schema()), "{}", engine.id);
        assert!(jsonschema::meta::is_valid(&engine.output_schema()), "{}", engine.id);
    }
}
