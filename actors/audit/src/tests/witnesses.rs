use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use muster_core::test_world;
use muster_tlog::{Checkpoint, Hash, Note, NoteSigner, SignatureType, Signed, VerifierKey, verify_consistency};

use super::{Fixture, signed, witnesses_of};
use crate::AuditOptions;
use crate::witness::{Witness, WitnessError};

/// A witness by the rules of C2SP tlog-witness: it cosigns what continues what it has seen.
#[derive(Debug)]
struct Scripted {
    signer: NoteSigner,
    seen: Mutex<(u64, Hash)>,
    submissions: Mutex<Vec<u64>>,
}

impl Scripted {
    fn new() -> Arc<Self> {
        let signer = NoteSigner::new("witness.example", SignatureType::CosignatureV1, &[9; 32]).unwrap();
        Arc::new(Self { signer, seen: Mutex::new((0, Hash::of_empty_tree())), submissions: Mutex::default() })
    }
}

impl Witness for Scripted {
    fn key(&self) -> &VerifierKey {
        self.signer.public()
    }

    fn add_checkpoint(
        &self,
        old: u64,
        proof: Vec<Hash>,
        note: String,
    ) -> BoxFuture<'static, Result<String, WitnessError>> {
        let mut seen = self.seen.lock().unwrap();
        self.submissions.lock().unwrap().push(old);
        let note = Note::parse(note.as_bytes()).unwrap();
        let checkpoint: Checkpoint = note.text().parse().unwrap();
        let answer = if old != seen.0 {
            Err(WitnessError::Size(seen.0))
        } else if verify_consistency(old, &seen.1, checkpoint.size, &checkpoint.root, &proof).is_err() {
            Err(WitnessError::Refused("the proof does not verify".to_owned()))
        } else {
            *seen = (checkpoint.size, checkpoint.root);
            Ok(format!("{}\n", self.signer.sign(note.text(), 1_767_225_601)))
        };
        Box::pin(async move { answer })
    }
}

#[test]
fn a_witness_cosigns_each_checkpoint_and_its_line_is_in_the_note() {
    test_world::run(|tree| async move {
        let (fixture, witness) = (Fixture::new(), Scripted::new());
        let options = AuditOptions { witnesses: witnesses_of(Arc::clone(&witness) as _), ..fixture.options() };
        let audit = fixture.start_with(&tree, options.clone()).await;
        for size in [3, 300, 301] {
            fixture.append(audit.view().size()..size).await;
            signed(&audit, size).await;
            let mut views = audit.views();
            views.wait_for(|view| view.witnessed_size() == Some(size)).await.unwrap();
            let note = audit.checkpoint().await.unwrap().cosigned();
            let keys = [audit.vkeys().unwrap(), vec![witness.key().clone()]].concat();
            let opened = Checkpoint::open(note.as_bytes(), "muster.example.org/audit/1", &keys).unwrap();
            assert!(opened.signatures.iter().any(|(_, signed)| *signed == Signed::At(1_767_225_601)));
        }
        // After a restart the server does not know what the witness has seen, and learns it from the answer.
        let again = fixture.start_with(&tree, options).await;
        fixture.append(301..302).await;
        signed(&again, 302).await;
        let mut views = again.views();
        views.wait_for(|view| view.witnessed_size() == Some(302)).await.unwrap();
        assert_eq!(*witness.seen.lock().unwrap(), (302, again.view().edge.root()));
        assert_eq!(again.view().alarms, []);
    });
}

#[test]
fn a_witness_that_has_seen_more_than_was_signed_is_an_alarm() {
    test_world::run(|tree| async move {
        let (fixture, witness) = (Fixture::new(), Scripted::new());
        witness.seen.lock().unwrap().0 = 1_000;
        let options = AuditOptions { witnesses: witnesses_of(Arc::clone(&witness) as _), ..fixture.options() };
        let audit = fixture.start_with(&tree, options).await;
        fixture.append(0..5).await;
        let mut views = audit.views();
        let view = views.wait_for(|view| !view.alarms.is_empty()).await.unwrap();
        assert!(view.alarms[0].what.contains("has seen 1000 entries, 5 are signed"), "{:?}", view.alarms);
    });
}
