//! Store failures, panics and restarts, and what callers see of them.

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use muster_store::StoreError;

use super::*;
use muster_core::Kind;
use muster_core::page::PageParams;
use muster_core::precondition::IfMatch;
use muster_core::supervise::ActorState;

#[test]
fn nothing_is_readable_published_or_answered_before_it_is_durable() {
    test_world::run(|tree| async move {
        let world = DeviceWorld::start(tree).await;
        let device = world.device().await;
        world.feed.take();
        world.store.hold_commits();
        let mut heartbeat = Box::pin(world.heartbeat(&device, healthy()));
        tokio::select! {
            biased;
            _ = &mut heartbeat => panic!("answered before it was durable"),
            () = world.store.held(1) => {}
        }
        assert_eq!(world.status(&device).await, Status::Provisioned);
        assert_eq!(world.published_names(), [""; 0]);
        world.store.release();
        assert_eq!(heartbeat.await.unwrap().status, Status::Online);
        assert_eq!(world.published_names(), ["device.status_changed"]);
    });
}

#[test]
fn changes_that_arrive_during_a_write_share_the_next_batch() {
    test_world::run(|tree| async move {
        let world = DeviceWorld::start(tree).await;
        let mut devices = Vec::new();
        for _ in 0..100 {
            devices.push(world.device().await);
        }
        let before = world.commits();
        world.store.hold_commits();
        let heartbeats =
            devices.iter().map(|device| world.heartbeat(device, healthy())).collect::<FuturesUnordered<_>>();
        let release = async {
            world.store.held(1).await;
            tokio::task::yield_now().await;
            world.store.release();
        };
        let (answers, ()) = tokio::join!(heartbeats.collect::<Vec<_>>(), release);
        assert!(answers.iter().all(|answer| answer.as_ref().is_ok_and(|answer| answer.status == Status::Online)));
        assert!(world.commits() - before <= 3, "{} commits", world.commits() - before);
    });
}

#[test]
fn a_failed_write_changes_nothing_and_silence_is_detected_again() {
    test_world::run(|tree| async move {
        let world = DeviceWorld::start(tree).await;
        let device = world.online().await;
        world.store.fail_commits(Some(StoreError::Poisoned("disk".into())));
        let refused = world.devices.register(new_device(), By::System, None).await.unwrap_err();
        assert_eq!((refused.kind, refused.retry_after), (Kind::Unavailable, Some(SECOND * 30)));
        let command = world.devices.command(device.id.to_string(), new_command("ping"), By::System, None).await;
        assert_eq!(command.unwrap_err(), refused, "every write gets the same answer");
        assert_eq!(world.apply(&device, DeviceAction::Quarantine).await.unwrap_err(), refused);
        assert_eq!(world.heartbeat(&device, unhealthy()).await.unwrap_err(), refused);
        assert_eq!(
            world.heartbeat(&device, Heartbeat::default()).await.unwrap().status,
            Status::Online,
            "it writes nothing"
        );
        test_world::after(SECOND * 190).await;
        assert_eq!(world.status(&device).await, Status::Online, "it could not be written yet");
        assert_eq!(world.published_names(), [""; 0]);
        assert_eq!(world.tree.snapshot()[0].restarts, 0);
        world.store.fail_commits(None);
        test_world::after(SECOND * 7).await;
        assert_eq!(world.status(&device).await, Status::Offline);
        assert_eq!(world.published_names(), ["device.status_changed"]);
    });
}

#[test]
fn a_full_store_delays_a_write_and_no_read() {
    test_world::run(|tree| async move {
        let world = DeviceWorld::start(tree).await;
        let device = world.device().await;
        world.feed.take();
        world.store.fail_commits(Some(StoreError::Busy));
        let mending = async {
            test_world::after(SECOND).await;
            assert_eq!((world.status(&device).await, world.published_names()), (Status::Provisioned, vec![]));
            world.store.fail_commits(None);
        };
        let (heartbeat, ()) = tokio::join!(world.heartbeat(&device, healthy()), mending);
        assert_eq!(
            (heartbeat.unwrap().status, world.published_names()),
            (Status::Online, vec!["device.status_changed".to_owned()])
        );
    });
}

#[test]
fn a_failed_commit_rejects_all_waiting_callers_and_loses_nothing_else() {
    test_world::run(|tree| async move {
        let world = DeviceWorld::start(tree).await;
        let (device, other) = (world.online().await, world.online().await);
        let measured = Map::from_iter([("level_m".to_owned(), 1.5.into())]);
        world.devices.measured(Arc::clone(&device.id), measured, By::System).await.unwrap();
        test_world::after(SECOND).await;
        // A quiet heartbeat: applied at once, stored later.
        world.heartbeat(&device, Heartbeat::default()).await.unwrap();
        let before = world.devices.get(&device.id).await.unwrap();
        world.store.hold_commits();
        let fail = async {
            world.store.held(2).await;
            world.store.fail_commits(Some(StoreError::Io("no disk".into())));
            world.store.release();
            world.store.fail_commits(None);
        };
        let registers = (0..50).map(|_| world.devices.register(new_device(), By::System, None));
        let (refused, heartbeat, ()) = tokio::join!(
            registers.collect::<FuturesUnordered<_>>().collect::<Vec<_>>(),
            world.heartbeat(&other, unhealthy()),
            fail
        );
        let refused = refused.into_iter().map(|made| made.unwrap_err().kind);
        assert!(refused.chain([heartbeat.unwrap_err().kind]).all(|kind| kind == Kind::Unavailable));
        test_world::until(|| world.tree.snapshot()[0].restarts == 1).await;
        test_world::until(|| world.tree.snapshot()[0].state == ActorState::Running).await;
        assert_eq!(world.devices.get(&device.id).await.unwrap(), before, "with its last heartbeat");
        let readings = world.devices.telemetry(device.id.to_string()).await.unwrap().readings;
        assert_eq!(readings.len(), 1);
        let all = world.devices.list(DeviceFilter::default(), PageParams { limit: 100, after: None }).await.unwrap();
        assert_eq!((all.items.len(), world.published_names()), (2, vec![]));
        world.heartbeat(&other, unhealthy()).await.unwrap();
    });
}

#[test]
fn the_next_change_sees_decisions_that_are_not_yet_durable() {
    test_world::run(|tree| async move {
        let world = DeviceWorld::start(tree).await;
        let (device, other) = (world.online().await, world.online().await);
        world.devices.command(device.id.to_string(), new_command("ping"), By::System, None).await.unwrap();
        let command = world.devices.next_command(Arc::clone(&device.id), SECOND).await.unwrap().unwrap();
        world.store.hold_commits();
        let key = PrivateKey::generate().unwrap().public().to_jwk();
        let ack = |answer| world.devices.acknowledge(Arc::clone(&device.id), command.id.clone(), answer, None);
        let rotate =
            |device: &TestDevice| world.devices.rotate(device.id.to_string(), Some(key.clone()), SECOND, By::System);
        let version = world.devices.get(&other.id).await.unwrap().version;
        let describe = |name: &str| {
            let patch = DevicePatch { name: Some(name.to_owned()), ..DevicePatch::default() };
            world.devices.describe(other.id.to_string(), patch, By::System, IfMatch::Version(version))
        };
        let release = async {
            world.store.held(2).await;
            test_world::after(Duration::from_millis(1)).await;
            world.store.release();
        };
        let (done, failed, renamed, stale, mine, taken, ()) = tokio::join!(
            ack(CommandOutcome::Done),
            ack(CommandOutcome::Failed),
            describe("a"),
            describe("b"),
            rotate(&device),
            rotate(&other),
            release
        );
        assert_eq!((done.unwrap().state, failed.unwrap_err().kind), (CommandState::Acked, Kind::Conflict));
        assert_eq!((renamed.unwrap().name.as_str(), stale.unwrap_err().kind), ("a", Kind::PreconditionFailed));
        assert_eq!((mine.is_ok(), taken.unwrap_err().code), (true, Some("key_in_use")));
    });
}

#[test]
fn a_panic_and_a_restart_lose_nothing() {
    test_world::run(|tree| async move {
        let world = DeviceWorld::start(tree).await;
        let device = world.online().await;
        world.devices.command(device.id.to_string(), new_command("siren.on"), By::System, None).await.unwrap();
        let before = world.devices.get(&device.id).await.unwrap();
        assert!(world.tree.inject_panic("devices/devices"));
        test_world::until(|| world.tree.snapshot()[0].restarts == 1).await;
        assert!(world.authenticate(&device).is_ok(), "devices are let in while the actor is down");
        test_world::until(|| world.tree.snapshot()[0].state == ActorState::Running).await;
        assert_eq!(world.devices.get(&device.id).await.unwrap(), before);
        let command = world.devices.next_command(Arc::clone(&device.id), SECOND).await.unwrap().unwrap();
        assert_eq!(command.name, "siren.on");
        world.tree.stop().await;
        let again = Tree::new(Arbiter::current(), world.clock.clone());
        let world = DeviceWorld::start_with(again, world.store, DeviceRules::default()).await;
        assert!(world.authenticate(&device).is_ok());
        let done = world.devices.acknowledge(Arc::clone(&device.id), command.id, CommandOutcome::Done, None).await;
        assert_eq!(done.unwrap().state, CommandState::Acked);
        // The server's own downtime does not count as silence of the device, which is counted from its start.
        test_world::after(SECOND * 178).await;
        assert_eq!(world.status(&device).await, Status::Online);
        test_world::after(SECOND * 4).await;
        assert_eq!(world.status(&device).await, Status::Offline);
        world.tree.stop().await;
    });
}

#[test]
fn a_panic_under_load_loses_nothing_that_was_acknowledged() {
    test_world::run(|tree| async move {
        let world = DeviceWorld::start(tree).await;
        let mut acknowledged = Vec::new();
        for round in 0..4 {
            let made = (0..25).map(|_| world.devices.register(new_device(), By::System, None));
            let made = made.collect::<FuturesUnordered<_>>().collect::<Vec<_>>();
            let kill = async {
                tokio::task::yield_now().await;
                assert!(world.tree.inject_panic("devices/devices"));
            };
            let (made, ()) = tokio::join!(made, kill);
            acknowledged.extend(made.into_iter().flatten().map(|made| made.device["id"].as_str().unwrap().to_owned()));
            test_world::until(|| world.tree.snapshot()[0].restarts == round + 1).await;
            test_world::until(|| world.tree.snapshot()[0].state == ActorState::Running).await;
        }
        let more = world.device().await;
        acknowledged.push(more.id.to_string());
        for id in &acknowledged {
            assert_eq!(&*world.devices.get(id).await.unwrap().id, id);
        }
    });
}
