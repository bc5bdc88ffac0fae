use muster_core::guard::{Cleared, GuardedAction, Need, Permit, Requester, Standing};
use muster_core::{Millis, test_world};
use muster_store::{Expect, Tree};

use super::{Fixture, entry, signed};
use crate::{Audit, Verdict, VerifyOptions, verify_export};

async fn export(audit: &Audit, from: u64, to: Option<u64>) -> Vec<u8> {
    let mut export = audit.export(from, to).await.unwrap();
    let mut bytes = Vec::new();
    while let Some(piece) = export.next_piece().unwrap() {
        bytes.extend(piece);
    }
    bytes
}

fn options(audit: &Audit) -> VerifyOptions {
    VerifyOptions { keys: audit.vkeys().unwrap(), ..VerifyOptions::default() }
}

#[test]
fn an_export_verifies_and_each_alteration_has_its_verdict() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new();
        let audit = fixture.start(&tree).await;
        fixture.append(0..300).await;
        signed(&audit, 300).await;
        audit.erase(5, "usr_root", "asked for", Cleared::free()).await.unwrap();
        let kept = audit.checkpoint().await.unwrap().note;
        signed(&audit, 301).await;
        let whole = export(&audit, 0, None).await;
        let options = options(&audit);
        let verdict = |bytes: &[u8]| verify_export(bytes, &options).unwrap();
        let Verdict::Ok(ok) = verdict(&whole) else { panic!("{}", verdict(&whole)) };
        assert_eq!((ok.end, ok.size, &*ok.origin), (301, 301, "muster.example.org/audit/1"));
        let against = VerifyOptions { against: vec![("kept".into(), kept.into_bytes())], ..options.clone() };
        assert!(verify_export(&*whole, &against).unwrap().is_ok());

        let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
        let joined = |lines: &[&[u8]]| lines.concat();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        // One byte of each kind.
        let altered = text(&whole).replacen("\"number\":7,", "\"number\":8,", 1);
        let altered =
            if altered == text(&whole) { altered.replacen("{\"number\":7}", "{\"number\":8}", 1) } else { altered };
        assert!(matches!(verdict(altered.as_bytes()), Verdict::AlteredAt(7, _)));
        let mut gap = lines.clone();
        gap.remove(40);
        assert!(matches!(verdict(&joined(&gap)), Verdict::AlteredAt(40, _)));
        assert!(matches!(verdict(&joined(&lines[..300])), Verdict::TailMissing(_)));
        let last = lines[301];
        assert!(matches!(verdict(&joined(&[&lines[..250], &[last]].concat())), Verdict::TailMissing(_)));
        let signed_wrong = text(&whole).replace("muster.example.org/audit/1\\n301", "muster.example.org/audit/1\\n302");
        assert!(matches!(verdict(signed_wrong.as_bytes()), Verdict::BadSignature(_)));
        // An entry altered with its leaf is consistent in itself.
        let forged = text(&whole).replace("\"resource\":\"task_9\"", "\"resource\":\"task_X\"");
        let forged = forged.replace("\\\"resource\\\":\\\"task_9\\\"", "\\\"resource\\\":\\\"task_X\\\"");
        assert!(matches!(verdict(forged.as_bytes()), Verdict::RootMismatch(_)), "{}", verdict(forged.as_bytes()));

        // Two histories of one size.
        let other = Fixture::new();
        super::copy_files(fixture.data.path(), other.data.path());
        std::fs::remove_file(other.checkpoints()).unwrap();
        let second = other.start(&tree).await;
        other.append(1_000..1_301).await;
        signed(&second, 301).await;
        let fork = second.checkpoint().await.unwrap().note;
        let against = VerifyOptions { against: vec![("kept".into(), fork.into_bytes())], ..options };
        assert!(matches!(verify_export(&*whole, &against).unwrap(), Verdict::Fork(_)));
    });
}

#[test]
fn a_part_of_the_log_verifies_by_the_hashes_beside_it() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new();
        let audit = fixture.start(&tree).await;
        fixture.append(0..700).await;
        signed(&audit, 700).await;
        for (from, to) in [(0, 700), (0, 256), (1, 700), (255, 513), (699, 700), (300, 300)] {
            let part = export(&audit, from, Some(to)).await;
            let options = VerifyOptions { first: from, part: true, ..options(&audit) };
            let verdict = verify_export(&*part, &options).unwrap();
            assert!(verdict.is_ok(), "{from}..{to}: {verdict}");
            let shifted = VerifyOptions { first: from + 1, ..options };
            assert!(!verify_export(&*part, &shifted).unwrap().is_ok());
        }
    });
}

#[test]
fn an_erased_entry_has_no_details_and_its_proof_still_holds() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new();
        let audit = fixture.start(&tree).await;
        fixture.append(0..10).await;
        signed(&audit, 10).await;
        let before = audit.inclusion(3, Some(10)).await.unwrap();
        let standing = Standing { ready: true, constituted: true, ..Standing::default() };
        let permit = Permit {
            approval: "apr_1".to_owned(),
            action: "audit.erase".to_owned(),
            resource: "three".to_owned(),
            requester: "usr_root".to_owned(),
            expect: (Tree::Approvals, b"apr_1".to_vec(), Expect::Absent),
            ops: Vec::new(),
            valid_until: Millis(1),
        };
        let (need, root) =
            (Need::new(GuardedAction::AuditErase, "three"), Requester { id: "usr_root", is_super_admin: true });
        let cleared = standing.clear(Some(need), root, Some(permit), Millis(0)).unwrap();
        let erased = audit.erase(3, "usr_root", "request of the person", cleared).await.unwrap();
        assert_eq!((erased.record.salt, &erased.record.details), (None, &None));
        assert_eq!(audit.inclusion(3, Some(10)).await.unwrap(), before);
        let logged = audit.entry(10).await.unwrap().entry;
        assert_eq!(
            (&*logged.action, &*logged.actor, logged.approval.as_deref()),
            ("audit.erase", "usr_root", Some("apr_1"))
        );
        assert_eq!(logged.resource, erased.entry.id);
        assert!(audit.erase(3, "usr_root", "again", Cleared::free()).await.is_err());
        assert!(audit.erase(99, "usr_root", "none", Cleared::free()).await.is_err());
        assert_eq!(erased.entry.action, entry(3).action);
    });
}
