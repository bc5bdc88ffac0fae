//! Tests of the incident actor: durability before publication, restarts, and changes by time.

use actix_rt::Arbiter;
use muster_store::{MemStore, Order, Scan, Store, StoreError, StoreHandle, Tree};

use super::*;
use crate::alert::AlertState;
use crate::{geofence::Audience as GeofenceAudience, geofence::LocationObserver, geofence::Observation};
use muster_core::event::RecordingPublisher;
use muster_core::idempotency::Idempotency;
use muster_core::page::PageParams;
use muster_core::principal::Viewer;
use muster_core::supervise::Tree as Actors;
use muster_core::{Clock, Kind, test_world};
use muster_feed::{Denied, SnapshotReply, SnapshotRequest, SnapshotSource, StateItem};

pub(super) struct IncidentServer {
    pub(super) store: Arc<MemStore>,
    pub(super) recorder: Arc<RecordingPublisher>,
    pub(super) incidents: Incidents,
}

/// Records the observed locations.
#[derive(Debug, Default)]
struct RecordedLocations(std::sync::Mutex<Vec<Observation>>);

impl LocationObserver for RecordedLocations {
    fn observe(&self, observation: Observation) {
        self.0.lock().unwrap().push(observation);
    }

    fn observe_all(&self, observations: Vec<Observation>) {
        self.0.lock().unwrap().extend(observations);
    }
}

impl RecordedLocations {
    fn take(&self) -> Vec<Observation> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

pub(super) async fn server(tree: &Actors, store: &Arc<MemStore>) -> IncidentServer {
    start_observed(tree, store, &Arc::default()).await
}

async fn start_observed(tree: &Actors, store: &Arc<MemStore>, recorded: &Arc<RecordedLocations>) -> IncidentServer {
    with(tree, store, recorded, IncidentSettings::default()).await
}

async fn with(
    tree: &Actors,
    store: &Arc<MemStore>,
    recorded: &Arc<RecordedLocations>,
    settings: IncidentSettings,
) -> IncidentServer {
    let recorder = Arc::new(RecordingPublisher::default());
    let options = IncidentOptions {
        store: Arc::clone(store) as StoreHandle,
        clock: Clock::tokio(START),
        publisher: Arc::clone(&recorder) as _,
        location_observer: Some(Arc::clone(recorded) as _),
        independence: muster_identity::Independence::of_strangers(),
        standing: muster_core::guard::StandingReader::unconstituted(),
        critical: crate::incident::CriticalIncidents::default(),
        settings,
    };
    let incidents = Incidents::start(&tree.group("disaster"), Arbiter::current(), options);
    incidents.up().await;
    IncidentServer { store: Arc::clone(store), recorder, incidents }
}

impl IncidentServer {
    pub(super) async fn report(&self) -> Arc<Incident> {
        self.incidents.report(operator(), None, flood(Severity::Minor)).await.unwrap().incident.unwrap()
    }

    pub(super) async fn transition(&self, incident: &Incident, action: Action) -> Result<Arc<Incident>, Error> {
        let transition = IncidentTransition {
            details: TransitionDetails { commander: Some("usr_commander".to_owned()), ..TransitionDetails::default() },
            ..IncidentTransition::new(action)
        };
        let at = IfMatch::Version(incident.version);
        Ok(self.incidents.transition(commander(), incident.id.clone(), at, transition).await?.incident.unwrap())
    }

    pub(super) async fn get(&self, id: &str) -> Arc<Incident> {
        self.incidents.get(operator(), id.to_owned()).await.unwrap()
    }

    pub(super) fn published(&self) -> Vec<String> {
        self.recorder.take().into_iter().map(|event| event.name).collect()
    }
}

#[test]
fn an_acknowledgement_without_activation_expires_after_30_minutes() {
    test_world::run(|tree| async move {
        let server = server(&tree, &Arc::default()).await;
        let kept = server.report().await;
        let kept = server.transition(&kept, Action::Acknowledge).await.unwrap();
        server.transition(&kept, Action::Activate).await.unwrap();
        let left = server.report().await;
        server.transition(&left, Action::Acknowledge).await.unwrap();
        server.published();
        test_world::after(30 * MINUTE - Duration::from_secs(2)).await;
        assert_eq!(server.get(&left.id).await.state, State::Acknowledged);
        test_world::after(Duration::from_secs(4)).await;
        let left = server.get(&left.id).await;
        assert_eq!((left.state, left.version, left.ack.as_ref()), (State::Triaged, 3, None));
        assert_eq!(server.get(&kept.id).await.state, State::Active);
        assert_eq!(server.published(), ["incident.unacknowledged"]);
    });
}

#[test]
fn an_alert_expires_and_a_proposal_lapses_by_themselves() {
    test_world::run(|tree| async move {
        let server = server(&tree, &Arc::default()).await;
        let incident = server.report().await;
        let incident = server.transition(&incident, Action::Triage).await.unwrap();
        let draft = Draft {
            texts: AlertTexts { expires: Some(START.plus(HOUR)), ..AlertTexts::default() },
            ..Draft::default()
        };
        let sent = server.incidents.publish(commander(), None, incident.id.clone(), draft, None).await.unwrap();
        let sent = sent.alert.unwrap();
        test_world::after(HOUR + Duration::from_secs(2)).await;
        let sent = server.incidents.alert(viewer(), sent.id.clone()).await.unwrap();
        assert_eq!(sent.state, AlertState::Expired);
        assert!(server.published().ends_with(&["alert.expired".to_owned()]));
    });
}

#[test]
fn acknowledged_changes_survive_a_restart_and_failed_ones_leave_no_trace() {
    test_world::run(|tree| async move {
        let server = server(&tree, &Arc::default()).await;
        let kept = server.report().await;
        let kept = server.transition(&kept, Action::Triage).await.unwrap();
        let sent = server.incidents.publish(commander(), None, kept.id.clone(), Draft::default(), None).await.unwrap();
        let (kept, alert) = (sent.incident.unwrap(), sent.alert.unwrap());
        server.published();

        server.store.fail_commits(Some(StoreError::Poisoned("disk".into())));
        let error = server.transition(&kept, Action::Cancel).await;
        assert_eq!(error.unwrap_err().kind, Kind::Invalid, "without a reason");
        let error = server.transition(&kept, Action::Acknowledge).await.unwrap_err();
        assert_eq!(error.kind, Kind::Unavailable);
        assert_eq!(server.get(&kept.id).await, kept, "a change that was not stored is not visible");
        assert_eq!(server.published(), [""; 0], "nor published");
        server.store.fail_commits(None);

        assert!(tree.inject_panic("disaster/incidents"));
        test_world::until(|| tree.snapshot()[0].restarts == 1).await;
        server.incidents.up().await;
        assert_eq!(server.get(&kept.id).await, kept);
        assert_eq!(server.incidents.alert(viewer(), alert.id.clone()).await.unwrap(), alert);
        let next = server.report().await;
        assert_eq!(next.number, "2026-000002", "numbers go on");
        server.transition(&kept, Action::Acknowledge).await.unwrap();
    });
}

#[test]
fn a_kill_during_a_write_leaves_the_whole_change_or_none() {
    test_world::run(|tree| async move {
        let store = Arc::default();
        let first_server = server(&tree, &store).await;
        let incident = first_server.report().await;
        store.hold_commits();
        let (incidents, id) = (first_server.incidents.clone(), incident.id.clone());
        let context = actix_rt::spawn(async move {
            incidents.transition(commander(), id, IfMatch::Version(1), IncidentTransition::new(Action::Triage)).await
        });
        store.held(1).await;
        // What another process reads: before the write is durable, and after.
        for (version, state, entries) in [(1, State::Reported, vec![1]), (2, State::Triaged, vec![1, 2])] {
            let found = server(&tree, &store).await;
            let after = found.get(&incident.id).await;
            let page = found.incidents.timeline(operator(), incident.id.clone(), PageParams::default()).await.unwrap();
            let seqs: Vec<u64> = page.items.iter().map(|entry| entry.seq).collect();
            assert_eq!((after.version, after.state, seqs), (version, state, entries));
            store.release();
        }
        assert_eq!(context.await.unwrap().unwrap().incident.unwrap().version, 2);
    });
}

#[test]
fn events_are_in_the_outbox_of_the_batch_of_their_change() {
    test_world::run(|tree| async move {
        let server = server(&tree, &Arc::default()).await;
        let incident = server.report().await;
        server.transition(&incident, Action::Triage).await.unwrap();
        let published: Vec<String> = server.recorder.take().into_iter().map(|event| event.id).collect();
        let scan = Scan { limit: 100, order: Order::Ascending, ..Scan::default() };
        let stored = server.store.scan(Tree::Outbox, &scan).unwrap().items;
        let mut stored: Vec<String> = stored.into_iter().map(|(key, _)| String::from_utf8(key).unwrap()).collect();
        stored.sort_by_key(|id| published.iter().position(|published| published == id));
        assert_eq!(stored, published);
    });
}

#[test]
fn the_same_idempotency_key_returns_the_same_response_and_creates_nothing_twice() {
    test_world::run(|tree| async move {
        let server = server(&tree, &Arc::default()).await;
        let named = Idempotency { principal: "usr_operator".into(), key: "k".into(), digest: [1; 32] };
        let params = || server.incidents.report(operator(), Some(named.clone()), flood(Severity::Minor));
        let (first, again) = (params().await.unwrap(), params().await.unwrap());
        assert!(again.replayed && !first.replayed);
        assert_eq!(again.incident, first.incident);
        let all = server.incidents.list(operator(), IncidentFilter::default(), PageParams::default()).await.unwrap();
        assert_eq!(all.items.len(), 1);
    });
}

#[test]
fn a_timeline_is_paged_in_order() {
    test_world::run(|tree| async move {
        let server = server(&tree, &Arc::default()).await;
        let incident = server.report().await;
        for n in 0..4 {
            let text = format!("note {n}");
            server.incidents.note(operator(), None, incident.id.clone(), text, serde_json::Value::Null).await.unwrap();
        }
        let page = |after| server.incidents.timeline(operator(), incident.id.clone(), PageParams { limit: 3, after });
        let first = page(None).await.unwrap();
        let rest = page(first.next.clone()).await.unwrap();
        let seqs: Vec<u64> = first.items.iter().chain(&rest.items).map(|entry| entry.seq).collect();
        assert_eq!((seqs, rest.next), (vec![1, 2, 3, 4, 5], None));
    });
}

/// Requests the snapshot of a channel as a user with a role.
pub(super) async fn state(
    incidents: &Incidents,
    channel: &str,
    id: &str,
    role: UserRole,
) -> Result<Vec<StateItem>, Denied> {
    let (send, answer) = tokio::sync::oneshot::channel();
    let viewer = Viewer { id: id.into(), permissions: role.permissions() };
    let reply = SnapshotReply::new(move |state| drop(send.send(state)));
    incidents.request(SnapshotRequest { channel: channel.to_owned(), viewer, reply });
    answer.await.unwrap()
}

#[test]
fn a_channel_snapshot_holds_current_incidents_that_the_viewer_may_see() {
    test_world::run(|tree| async move {
        let server = server(&tree, &Arc::default()).await;
        let open = server.report().await;
        let finished = server.report().await;
        let canceled =
            IncidentTransition { note: Some("a drill".to_owned()), ..IncidentTransition::new(Action::Cancel) };
        server.incidents.transition(operator(), finished.id.clone(), IfMatch::Any, canceled).await.unwrap();
        let hidden = NewReport {
            fields: IncidentEdit { visibility: Some(Visibility::Restricted), ..flood(Severity::Minor).fields },
            ..NewReport::default()
        };
        let hidden = server.incidents.report(operator(), None, hidden).await.unwrap().incident.unwrap();
        let ids = |items: Vec<StateItem>| items.into_iter().map(|item| item.id).collect::<Vec<_>>();
        let params = |channel: String, role| {
            let incidents = server.incidents.clone();
            async move { state(&incidents, &channel, "usr_other", role).await.map(ids) }
        };
        assert_eq!(params("incidents".into(), UserRole::Viewer).await, Ok(vec![open.id.clone()]));
        assert_eq!(params("incidents.restricted".into(), UserRole::Operator).await, Ok(vec![hidden.id.clone()]));
        assert_eq!(params("incidents.restricted".into(), UserRole::Viewer).await, Err(Denied::NotFound));
        assert_eq!(params(events::own(&hidden.id), UserRole::Viewer).await, Err(Denied::NotFound));
        assert_eq!(params(events::own(&finished.id), UserRole::Viewer).await, Ok(vec![finished.id.clone()]));
        assert_eq!(params("alerts".into(), UserRole::Viewer).await, Ok(vec![]));
        tree.stop().await;
        assert_eq!(params("incidents".into(), UserRole::Viewer).await, Err(Denied::Unavailable));
    });
}

#[test]
fn geofences_are_notified_of_the_location_and_the_end_of_an_incident() {
    test_world::run(|tree| async move {
        let (store, recorded) = (Arc::default(), Arc::default());
        let server = start_observed(&tree, &store, &recorded).await;
        let square = [(6.0, 50.0), (8.0, 50.0), (8.0, 52.0), (6.0, 52.0), (6.0, 50.0)];
        let square = Geometry::Polygon(vec![square.map(|(lon, lat)| Point::new(lon, lat)).to_vec()]);
        let fields = IncidentEdit { geometry: Some(Some(square)), ..flood(Severity::Minor).fields };
        let context = NewReport { fields, ..NewReport::default() };
        let open = server.incidents.report(operator(), None, context).await.unwrap().incident.unwrap();
        let seen = recorded.take();
        assert_eq!((seen.len(), &*seen[0].subject.id), (1, open.id.as_str()));
        assert_eq!((seen[0].point, seen[0].audience), (Some(Point::new(7.0, 51.0)), GeofenceAudience::All));
        let edit =
            |edit: IncidentEdit| server.incidents.edit(operator(), open.id.clone(), IfMatch::Any, edit.into(), None);
        edit(IncidentEdit { title: Some("Flood".to_owned()), ..IncidentEdit::default() }).await.unwrap();
        assert_eq!(recorded.take(), [], "nothing of it moved");
        for (visibility, audience) in
            [(Visibility::Restricted, GeofenceAudience::Restricted), (Visibility::Private, GeofenceAudience::Own)]
        {
            edit(IncidentEdit { visibility: Some(visibility), ..IncidentEdit::default() }).await.unwrap();
            assert_eq!(recorded.take().pop().map(|seen| seen.audience), Some(audience));
        }
        let finished = server.report().await;
        let canceled =
            IncidentTransition { note: Some("a drill".to_owned()), ..IncidentTransition::new(Action::Cancel) };
        server.incidents.transition(operator(), finished.id.clone(), IfMatch::Any, canceled).await.unwrap();
        assert_eq!(recorded.take().pop().map(|seen| seen.point), Some(None));

        start_observed(&tree, &store, &recorded).await;
        let again: Vec<_> = recorded.take().into_iter().map(|seen| (seen.subject.id.to_string(), seen.point)).collect();
        assert_eq!(
            again,
            [(open.id.clone(), Some(Point::new(7.0, 51.0))), (finished.id.clone(), None)],
            "once at a start"
        );
    });
}

#[test]
fn a_viewer_that_loses_access_to_an_incident_is_unsubscribed() {
    test_world::run(|tree| async move {
        let server = server(&tree, &Arc::default()).await;
        let incident = server.report().await;
        let viewer_of = |role: UserRole, id: &str| Viewer { id: id.into(), permissions: role.permissions() };
        let (viewer, operator_too) = (viewer_of(UserRole::Viewer, "usr_v"), viewer_of(UserRole::Operator, "usr_o"));
        let edit = |edit: IncidentEdit| {
            server.incidents.edit(operator(), incident.id.clone(), IfMatch::Any, edit.into(), None)
        };
        edit(IncidentEdit { title: Some("Flood".to_owned()), ..IncidentEdit::default() }).await.unwrap();
        assert!(server.recorder.take_restrictions().is_empty(), "all who could see it still can");
        edit(IncidentEdit { visibility: Some(Visibility::Restricted), ..IncidentEdit::default() }).await.unwrap();
        let restrictions = server.recorder.take_restrictions();
        assert_eq!((restrictions.len(), &*restrictions[0].channel), (1, events::own(&incident.id).as_str()));
        assert_eq!((restrictions[0].allows(&viewer), restrictions[0].allows(&operator_too)), (false, true));
        let addresses = Some(vec!["usr_v".to_owned()]);
        edit(IncidentEdit { visibility: Some(Visibility::Private), addresses, ..IncidentEdit::default() })
            .await
            .unwrap();
        let restrictions = server.recorder.take_restrictions();
        assert_eq!(
            (restrictions[0].allows(&viewer), restrictions[0].allows(&operator_too)),
            (true, false),
            "only who is named"
        );
    });
}

#[test]
fn a_report_of_a_device_attaches_to_public_incidents_and_discloses_no_others() {
    test_world::run(|tree| async move {
        let server = server(&tree, &Arc::default()).await;
        let report = |by: By, visibility| {
            let fields = IncidentEdit { visibility, ..flood(Severity::Minor).fields };
            let via = Some(ReportedVia::Operator);
            let context = NewReport { fields, via, dedup_key: Some("gauge-7".to_owned()), ..NewReport::default() };
            server.incidents.report(by, None, context)
        };
        let device = |id: &str| By::Device(id.into());
        let first = report(device("dev_1"), None).await.unwrap().incident.unwrap();
        assert_eq!(
            (first.reported_via, first.reported_by.as_str()),
            (ReportedVia::Device, "dev_1"),
            "whatever it says"
        );
        let other = report(device("dev_2"), None).await.unwrap();
        assert!(other.attached && other.incident.unwrap().id == first.id);
        let hide = IncidentEdit { visibility: Some(Visibility::Restricted), ..IncidentEdit::default() };
        server.incidents.edit(operator(), first.id.clone(), IfMatch::Any, hide.into(), None).await.unwrap();
        assert!(report(device("dev_1"), None).await.unwrap().attached, "its own");
        let anew = report(device("dev_2"), None).await.unwrap();
        assert!(!anew.attached && anew.incident.unwrap().id != first.id);
    });
}

#[test]
fn long_finished_incidents_are_read_from_the_store_and_behave_alike() {
    test_world::run(|tree| async move {
        let store = Arc::default();
        let start = || async {
            let settings = IncidentSettings { keep_finished: MINUTE, ..IncidentSettings::default() };
            with(&tree, &store, &Arc::default(), settings).await
        };
        let server = start().await;
        let mut ids = Vec::new();
        for n in 0..5 {
            let incident = server.report().await;
            if n % 2 == 0 {
                let canceled =
                    IncidentTransition { note: Some("a drill".to_owned()), ..IncidentTransition::new(Action::Cancel) };
                server.incidents.transition(operator(), incident.id.clone(), IfMatch::Any, canceled).await.unwrap();
            }
            ids.push(incident.id.clone());
        }
        ids.reverse();
        test_world::after(2 * MINUTE).await;
        for found in [&server, &start().await] {
            let list = |states: Vec<State>, limit, after| {
                let filter = IncidentFilter { states, ..IncidentFilter::default() };
                let context = found.incidents.list(operator(), filter, PageParams { limit, after });
                async move {
                    let page = context.await.unwrap();
                    (page.items.iter().map(|item| item.id.clone()).collect::<Vec<_>>(), page.next)
                }
            };
            let finished = [ids[0].clone(), ids[2].clone(), ids[4].clone()];
            assert_eq!(list(vec![], 10, None).await, (ids.clone(), None));
            assert_eq!(list(vec![State::Canceled], 10, None).await, (finished.to_vec(), None));
            let (first, next) = list(vec![State::Canceled], 2, None).await;
            assert_eq!((first, next.as_deref()), (finished[..2].to_vec(), Some(finished[1].as_str())));
            assert_eq!(list(vec![State::Canceled], 2, next).await, (finished[2..].to_vec(), None));
            assert_eq!(list(vec![State::Reported], 10, None).await.0, [ids[1].clone(), ids[3].clone()]);
            assert_eq!(found.get(&finished[0]).await.state, State::Canceled);
            assert!(state(&found.incidents, &events::own(&finished[1]), "usr_x", UserRole::Viewer).await.is_ok());
        }
        let noted = server.incidents.note(operator(), None, ids[0].clone(), "bill".to_owned(), serde_json::Value::Null);
        assert_eq!(noted.await.unwrap().incident.unwrap().timeline_seq, 3, "it is annotated still");
        assert_eq!(server.report().await.number, "2026-000006", "numbers go on");
    });
}
