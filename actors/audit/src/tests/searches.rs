use muster_core::Millis;
use muster_core::audit::Outcome;
use muster_core::page::PageParams;
use muster_core::test_world;
use proptest::prelude::*;

use super::{Fixture, signed};
use crate::{Audit, AuditFilter};

const LENGTH: u64 = 900;

async fn all(audit: &Audit, filter: &AuditFilter, limit: usize) -> Vec<u64> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = audit.list(filter.clone(), PageParams { limit, after }).await.unwrap();
        assert!(page.items.len() <= limit);
        found.extend(page.items.iter().map(|entry| entry.seq));
        after = page.next;
        if after.is_none() {
            return found;
        }
    }
}

fn filter() -> impl Strategy<Value = AuditFilter> {
    let actor = prop::option::of((0..15_u64).prop_map(|n| format!("usr_{n}")));
    let action = prop::option::of(prop::sample::select(vec!["task.0", "task.2", "task.*", "key.*", "task"]));
    let resource = prop::option::weighted(0.2, (0..1_000_u64).prop_map(|n| format!("task_{n}")));
    let outcome =
        prop::option::weighted(0.3, prop::sample::select(vec![Outcome::Ok, Outcome::Refused, Outcome::Failed]));
    let time = || prop::option::weighted(0.3, (0..10_000_u64).prop_map(|n| Millis(test_world::START.0 + n)));
    (actor, action, resource, outcome, time(), time()).prop_map(|(actor, action, resource, outcome, from, to)| {
        AuditFilter { actor, action: action.map(str::to_owned), resource, approval: None, outcome, from, to }
    })
}

#[test]
fn a_search_finds_what_reading_everything_finds_newest_first() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new();
        let audit = fixture.start(&tree).await;
        fixture.append(0..LENGTH).await;
        signed(&audit, LENGTH).await;
        let records = fixture.records();
        let entries: Vec<_> = records.iter().map(|record| record.entry().unwrap()).collect();
        let mut runner = proptest::test_runner::TestRunner::deterministic();
        for case in 0..60 {
            let filter = filter().new_tree(&mut runner).unwrap().current();
            let matching = (0..).zip(&entries).filter(|(_, entry)| filter.matches(entry)).map(|(seq, _)| seq);
            let mut expected: Vec<u64> = matching.collect();
            expected.reverse();
            assert_eq!(all(&audit, &filter, 1 + case % 37).await, expected, "{filter:?}");
        }
        assert_eq!(all(&audit, &AuditFilter::default(), 200).await.len(), 900);
        let wrong = PageParams { limit: 5, after: Some("aud_1".to_owned()) };
        assert!(audit.list(AuditFilter::default(), wrong).await.is_err());
    });
}
