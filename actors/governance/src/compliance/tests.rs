//! Controls: their data, and states by evidence.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use futures::FutureExt;
use futures::future::BoxFuture;
use muster_core::{Clock, Error, Millis, test_world};
use serde_json::{Value, json};

use super::*;

/// A server of which only this is known.
#[derive(Default)]
struct Known {
    entries: Mutex<Vec<(String, Millis)>>,
    probes: BTreeMap<String, String>,
    settings: BTreeMap<String, Value>,
    records: BTreeMap<String, u64>,
    exceptions: BTreeMap<String, String>,
}

fn named<T: Clone>(all: &BTreeMap<String, T>, name: &str) -> Option<T> {
    all.get(name).cloned()
}

impl EvidenceSource for Known {
    fn entries<'a>(&'a self, actions: Vec<&'a str>, from: Millis) -> BoxFuture<'a, Result<Found, Error>> {
        let entries = self.entries.lock().unwrap();
        let is = |action: &str| {
            actions.iter().any(|wanted| match wanted.strip_suffix('*') {
                Some(beginning) => action.starts_with(beginning),
                None => action == *wanted,
            })
        };
        let found: Vec<u64> = (0..entries.len())
            .filter(|nth| is(&entries[*nth].0) && entries[*nth].1 >= from)
            .map(|nth| nth as u64)
            .collect();
        let found = Found::Entries {
            count: found.len() as u64,
            first_seq: found.first().copied(),
            last_seq: found.last().copied(),
            at: found.last().map(|nth| entries[usize::try_from(*nth).unwrap()].1),
        };
        async move { Ok(found) }.boxed()
    }

    fn probe(&self, module: &str) -> Found {
        named(&self.probes, module).map_or(Found::Nothing, |status| Found::Probe { status, at: test_world::START })
    }

    fn setting(&self, name: &str) -> Found {
        named(&self.settings, name).map_or(Found::Nothing, Found::Setting)
    }

    fn records<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Found, Error>> {
        let found = named(&self.records, name).map_or(Found::Nothing, Found::Records);
        async move { Ok(found) }.boxed()
    }

    fn exceptions(&self) -> BoxFuture<'_, Result<BTreeMap<String, String>, Error>> {
        async move { Ok(self.exceptions.clone()) }.boxed()
    }
}

/// Where everything is as it should be, and nothing has happened yet.
fn well_kept() -> Known {
    let mut known = Known::default();
    for evidence in controls().unwrap().into_iter().flat_map(|control| control.evidence) {
        let name = evidence.reference;
        match evidence.kind {
            EvidenceKind::Audit => {}
            EvidenceKind::Probe => drop(known.probes.insert(name, "healthy".to_owned())),
            EvidenceKind::Setting => drop(known.settings.insert(name, json!(["age1…"]))),
            EvidenceKind::Record => drop(known.records.insert(name, evidence.at_most.unwrap_or(evidence.min))),
        }
    }
    known
}

/// What a server records by itself, or when somebody logs in and looks.
const BY_ITSELF: [&str; 10] = [
    "login",
    "user_created",
    "request.refused",
    "settings.reloaded",
    "key_created",
    "deploy.recorded",
    "policy.change",
    "ledger.close",
    "state.recorded",
    "audit.imported",
];

async fn states(known: Known, clock: &Clock) -> Vec<(String, Status, String)> {
    let compliance = Compliance::new(Arc::new(known), clock).unwrap();
    let states = compliance.list().await.unwrap();
    states.into_iter().map(|state| (state.control.id, state.status, state.why)).collect()
}

#[test]
fn every_control_needs_acts_and_names_its_frameworks() {
    let controls = controls().unwrap();
    assert!(controls.len() >= 20);
    for pair in controls.windows(2) {
        assert!(pair[0].id < pair[1].id, "{} stands once", pair[0].id);
    }
    for control in &controls {
        let acts = |one: &&Evidence| one.kind == EvidenceKind::Audit && one.at_most.is_none() && one.min > 0;
        assert!(control.evidence.iter().any(|one| acts(&one)), "{}", control.id);
        assert!((1..=400).contains(&control.window_days) && control.frameworks.len() >= 2, "{}", control.id);
        for one in control.evidence.iter().filter(|one| one.kind == EvidenceKind::Setting) {
            assert!(!one.is.is_empty(), "{}: no value of {} would do", control.id, one.reference);
        }
    }
}

#[test]
fn a_fresh_server_passes_nothing_however_well_it_is_kept() {
    test_world::run(|_| async {
        let clock = Clock::tokio(test_world::START);
        for mut known in [Known::default(), well_kept()] {
            // Nobody has approved a policy of a fresh server.
            known.records.remove("policy-by-approval");
            for nth in BY_ITSELF {
                known.entries.lock().unwrap().push((nth.to_owned(), clock.now()));
            }
            for (id, status, why) in states(known, &clock).await {
                assert_ne!(status, Status::Pass, "{id}: {why}");
            }
        }
    });
}

#[test]
fn a_pass_ages_to_no_evidence() {
    test_world::run(|_| async {
        let clock = Clock::tokio(test_world::START);
        let known = well_kept();
        let acts = ["approval_executed", "approval_decided", "key_rotated"];
        known.entries.lock().unwrap().extend(acts.map(|act| (act.to_owned(), clock.now())));
        let compliance = Compliance::new(Arc::new(known), &clock).unwrap();
        let status = async |id: &str| compliance.get(id).await.unwrap().status;
        let day = std::time::Duration::from_secs(86_400);
        assert_eq!(status("AC-5").await, Status::Pass);
        assert_eq!(status("IA-5").await, Status::Pass);
        let evidence = compliance.get("AC-5").await.unwrap().evidence;
        let acted = evidence.iter().find(|one| one.kind == EvidenceKind::Audit).unwrap();
        assert_eq!((acted.count, acted.first_seq, acted.last_seq, acted.at), (1, Some(0), Some(0), Some(clock.now())));
        tokio::time::advance(90 * day).await;
        assert_eq!(status("IA-5").await, Status::Pass, "the last moment of its window");
        tokio::time::advance(day).await;
        assert_eq!((status("IA-5").await, status("AC-5").await), (Status::NoEvidence, Status::Pass));
        tokio::time::advance(90 * day).await;
        assert_eq!(status("AC-5").await, Status::NoEvidence);
    });
}

#[test]
fn what_contradicts_a_control_fails_it_and_an_approval_excepts_it() {
    test_world::run(|_| async {
        let clock = Clock::tokio(test_world::START);
        let of = async |change: &dyn Fn(&mut Known), id: &str| {
            let mut known = well_kept();
            let acts = ["approval_executed", "key_rotated", "audit.export", "firmware.job.created"];
            known.entries.lock().unwrap().extend(acts.map(|act| (act.to_owned(), clock.now())));
            change(&mut known);
            let all = states(known, &clock).await;
            all.into_iter().find(|(found, ..)| found == id).map(|(_, status, why)| (status, why)).unwrap()
        };
        assert_eq!(of(&|_| {}, "IA-5").await.0, Status::Pass);
        let (status, why) = of(&|known| drop(known.probes.insert("api-keys".into(), "unhealthy".into())), "IA-5").await;
        assert_eq!((status, why.contains("api-keys")), (Status::Fail, true));
        // Degraded contradicts nothing and supports nothing.
        let degraded = of(&|known| drop(known.probes.insert("api-keys".into(), "degraded".into())), "IA-5").await;
        assert_eq!(degraded.0, Status::NoEvidence);
        assert_eq!(of(&|_| {}, "SI-7").await.0, Status::Pass);
        let replaced = of(
            &|known| known.entries.lock().unwrap().push(("firmware.image_replaced".into(), test_world::START)),
            "SI-7",
        );
        assert_eq!(replaced.await.0, Status::Fail);
        assert_eq!(
            of(&|known| drop(known.settings.insert("backup.recipients".into(), json!([]))), "CP-9").await.0,
            Status::Fail
        );
        assert_eq!(of(&|known| _ = known.records.insert("policy-unlike-file".into(), 1), "CM-5").await.0, Status::Fail);
        assert_eq!(of(&|_| {}, "AU-9").await.0, Status::Pass);
        assert_eq!(of(&|known| _ = known.records.insert("audit-copies".into(), 0), "AU-9").await.0, Status::NoEvidence);
        let excepted = of(&|known| drop(known.exceptions.insert("CP-9".into(), "apr_1".into())), "CP-9").await;
        assert_eq!(excepted, (Status::Excepted, "excepted by apr_1".to_owned()));
    });
}
