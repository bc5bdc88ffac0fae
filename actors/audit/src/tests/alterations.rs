use muster_core::health::ProbeResult;
use muster_core::test_world;
use muster_core::{Clock, audit::AuditRecord};
use muster_store::{Batch, Rec, Store, Tree};
use muster_tlog::TileId;

use super::{Fixture, followed, signed};
use crate::{Audit, LogProbe};

/// Waits for a difference.
async fn alarmed(audit: &Audit) -> String {
    let mut views = audit.views();
    let view = views.wait_for(|view| !view.alarms.is_empty()).await.unwrap();
    view.alarms[0].what.clone()
}

fn alter_leaf(record: &AuditRecord) -> AuditRecord {
    AuditRecord { leaf: record.leaf.replace("\"outcome\":\"ok\"", "\"outcome\":\"refused\""), ..record.clone() }
}

#[test]
fn an_altered_entry_salt_or_detail_is_found_by_comparing_with_the_tiles() {
    type Alter = fn(&AuditRecord) -> AuditRecord;
    let alterations: [(Alter, &str); 3] = [
        (alter_leaf, "is not the one whose hash is in the tree"),
        (|record| AuditRecord { salt: Some([7; 16]), ..record.clone() }, "salt or details"),
        (|record| AuditRecord { details: Some("{}".into()), ..record.clone() }, "salt or details"),
    ];
    for (alter, expected) in alterations {
        for seq in [3, 300, 599] {
            test_world::run(|tree| async move {
                let fixture = Fixture::new();
                let audit = fixture.start(&tree).await;
                fixture.append(0..600).await;
                signed(&audit, 600).await;
                fixture.replace(seq, &alter(&fixture.records()[usize::try_from(seq).unwrap()])).await;
                let found = alarmed(&audit).await;
                assert!(found.contains(expected) && found.contains(&format!("entry {seq}")), "{found}");
                assert_eq!(audit.view().alarms[0].seq, Some(seq));
                let events = fixture.published.take();
                assert!(events.iter().any(|event| event.name == "audit.alarm"));
                let probe = LogProbe::new(audit, Clock::tokio(test_world::START));
                assert!(matches!(probe.check().await, ProbeResult::Unhealthy(_)));
            });
        }
    }
}

#[test]
fn an_altered_tile_is_found_and_a_lost_one_is_made_anew() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new();
        let audit = fixture.start(&tree).await;
        fixture.append(0..600).await;
        followed(&audit, 600).await;
        signed(&audit, 600).await;
        let store = fixture.store();
        let key = TileId { level: 0, index: 1 }.key();
        let tile = store.get(Tree::AuditTiles, &key).unwrap().unwrap();
        store.commit(Batch::delete(Tree::AuditTiles, key)).await.unwrap();
        let mut length = 0;
        while store.get(Tree::AuditTiles, &key).unwrap().is_none() {
            test_world::after(std::time::Duration::from_secs(1)).await;
            length += 1;
            assert!(length < 60, "the tile was not made anew");
        }
        assert_eq!(store.get(Tree::AuditTiles, &key).unwrap(), Some(tile.clone()));
        assert!(audit.view().alarms.is_empty());
        let mut altered = tile;
        altered.bytes[40] ^= 1;
        store.commit(Batch::put(Tree::AuditTiles, key, altered)).await.unwrap();
        assert!(alarmed(&audit).await.contains("entry 257"));
    });
}

#[test]
fn the_probe_is_healthy_until_a_planted_fault() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new();
        let audit = fixture.start(&tree).await;
        let probe = LogProbe::new(audit.clone(), Clock::tokio(test_world::START));
        assert_eq!(probe.check().await, ProbeResult::Healthy);
        fixture.append(0..300).await;
        signed(&audit, 300).await;
        assert_eq!(probe.check().await, ProbeResult::Healthy);
        fixture.append(300..500).await;
        signed(&audit, 500).await;
        assert_eq!(probe.check().await, ProbeResult::Healthy);
        fixture.replace(450, &alter_leaf(&fixture.records()[450])).await;
        assert!(matches!(probe.check().await, ProbeResult::Unhealthy(why) if why.contains("entry 450")));
    });
}

#[test]
fn a_record_that_is_no_entry_is_reported() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new();
        let audit = fixture.start(&tree).await;
        let damaged = Rec { schema: 1, bytes: vec![255; 4] };
        let batch = Batch::default().and_append(Tree::AuditLog, damaged);
        fixture.store().commit(batch).await.unwrap();
        assert!(alarmed(&audit).await.contains("cannot be followed"));
    });
}
