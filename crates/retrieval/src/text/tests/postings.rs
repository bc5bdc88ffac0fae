//! Postings against a map, in lists of all sizes.

use std::collections::BTreeMap;

use super::Random;
use crate::text::block::{Item, write_places};
use crate::text::postings::Postings;

type Model = BTreeMap<u32, Vec<u32>>;

fn check(postings: &Postings, model: &Model) {
    assert_eq!(postings.len() as usize, model.len());
    assert_eq!(postings.is_empty(), model.is_empty());
    assert!(model.values().all(|places| places.len() as u32 <= postings.most()));
    let mut counts = Vec::new();
    postings.each_count(|doc, count| counts.push((doc, count)));
    assert_eq!(counts, model.iter().map(|(doc, places)| (*doc, places.len() as u32)).collect::<Vec<_>>());
    // One reads the positions of all entries, the other those of every second.
    let (mut cursor, mut other) = (postings.cursor(), postings.cursor());
    let mut from = 0;
    for (doc, places) in model.iter().step_by(5) {
        assert_eq!(cursor.seek((*doc).max(from)), Some(*doc));
        assert_eq!(cursor.positions().collect::<Vec<_>>(), *places);
        assert_eq!(other.seek(*doc), Some(*doc));
        if doc % 2 == 0 {
            assert_eq!(other.positions().collect::<Vec<_>>(), *places);
        }
        from = doc + 1;
    }
    assert!(cursor.seek(u32::MAX).is_none());
    let stored = postings.views().iter().map(|view| (view.heads.to_vec(), view.places.to_vec())).collect();
    let mut read = 0;
    assert_eq!(Postings::from_blocks(stored, |_| read += 1).map(|list| list.len()), Some(postings.len()));
    assert_eq!(read, model.len());
}

fn add(postings: &mut Postings, model: &mut Model, doc: u32, random: &mut Random) {
    // Most entries contain a word once or twice, some often, one in a hundred very often.
    let often = [1, 1, 1, 2, 2, 3, 4, 5, 9][random.below(9) as usize] * if random.below(100) == 0 { 200 } else { 1 };
    let mut last = 0;
    let place = |_| {
        last += 1 + random.below(300);
        last
    };
    let places: Vec<u32> = (0..often).map(place).collect();
    let mut bytes = Vec::new();
    let count = write_places(places.iter().copied(), &mut bytes);
    postings.insert(Item { doc, count, places: &bytes });
    model.insert(doc, places);
}

#[test]
fn lists_hold_the_entries_that_were_inserted_and_not_removed() {
    for (seed, span) in [(1, 12), (2, 40), (3, 600), (4, 3_000), (5, 400_000)] {
        let (mut random, mut postings, mut model) = (Random(seed), Postings::default(), Model::new());
        for doc in 0..600.min(span) {
            add(&mut postings, &mut model, doc, &mut random);
        }
        let kept = (postings.clone(), model.clone());
        for round in 0..4_000 {
            let doc = random.below(span);
            // It grows in the first half and shrinks in the second.
            let puts = if round < 2_000 { 4 } else { 1 };
            if model.remove(&doc).is_some() {
                postings.remove(doc);
            } else if random.below(5) < puts {
                add(&mut postings, &mut model, doc, &mut random);
            }
            if round % 500 == 0 {
                check(&postings, &model);
            }
        }
        check(&kept.0, &kept.1);
        for doc in model.keys().copied().collect::<Vec<_>>() {
            postings.remove(doc);
            model.remove(&doc);
            if model.len() % 97 == 0 {
                check(&postings, &model);
            }
        }
    }
}
