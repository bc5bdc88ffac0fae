//! What goes wrong, and what of it is seen.

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use muster_store::StoreError;

use super::*;
use muster_core::Kind;
use muster_core::page::PageAsk;
use muster_core::precondition::IfMatch;
use muster_core::supervise::ActorState;

#[test]
fn nothing_is_shown_told_or_answered_before_it_is_durable() {
    test_world::run(|tree| async move {
        let world = World::start(tree).await;
        let unit = world.unit().await;
        world.feed.take();
        world.store.hold_commits();
        let mut beat = Box::pin(world.beat(&unit, well()));
        tokio::select! {
            biased;
            _ = &mut beat => panic!("answered before it was durable"),
            () = world.store.held(1) => {}
        }
        assert_eq!(world.status(&unit).await, Status::Provisioned);
        assert_eq!(world.names(), [""; 0]);
        world.store.release();
        assert_eq!(beat.await.unwrap().status, Status::Online);
        assert_eq!(world.names(), ["device.status_changed"]);
    });
}

#[test]
fn what_comes_while_one_is_written_shares_the_next_batch() {
    test_world::run(|tree| async move {
        let world = World::start(tree).await;
        let mut units = Vec::new();
        for _ in 0..100 {
            units.push(world.unit().await);
        }
        let before = world.commits();
        world.store.hold_commits();
        let beats = units.iter().map(|unit| world.beat(unit, well())).collect::<FuturesUnordered<_>>();
        let release = async {
            world.store.held(1).await;
            tokio::task::yield_now().await;
            world.store.release();
        };
        let (answers, ()) = tokio::join!(beats.collect::<Vec<_>>(), release);
        assert!(answers.iter().all(|answer| answer.as_ref().is_ok_and(|answer| answer.status == Status::Online)));
        assert!(world.commits() - before <= 3, "{} commits", world.commits() - before);
    });
}

#[test]
fn a_write_that_fails_changes_nothing_and_silence_is_found_again() {
    test_world::run(|tree| async move {
        let world = World::start(tree).await;
        let unit = world.online().await;
        world.store.fail_commits(Some(StoreError::Poisoned("disk".into())));
        let refused = world.devices.register(new_device(), By::System, None).await.unwrap_err();
        assert_eq!((refused.kind, refused.retry_after), (Kind::Unavailable, Some(SECOND * 30)));
        let command = world.devices.command(unit.id.to_string(), order("ping"), By::System, None).await;
        assert_eq!(command.unwrap_err(), refused, "every write gets the same answer");
        assert_eq!(world.shift(&unit, Deed::Quarantine).await.unwrap_err(), refused);
        assert_eq!(world.beat(&unit, ill()).await.unwrap_err(), refused);
        assert_eq!(world.beat(&unit, Report::default()).await.unwrap().status, Status::Online, "it writes nothing");
        test_world::after(SECOND * 190).await;
        assert_eq!(world.status(&unit).await, Status::Online, "it could not be written yet");
        assert_eq!(world.names(), [""; 0]);
        assert_eq!(world.tree.snapshot()[0].restarts, 0);
        world.store.fail_commits(None);
        test_world::after(SECOND * 7).await;
        assert_eq!(world.status(&unit).await, Status::Offline);
        assert_eq!(world.names(), ["device.status_changed"]);
    });
}

#[test]
fn a_full_store_delays_a_write_and_no_read() {
    test_world::run(|tree| async move {
        let world = World::start(tree).await;
        let unit = world.unit().await;
        world.feed.take();
        world.store.fail_commits(Some(StoreError::Busy));
        let mending = async {
            test_world::after(SECOND).await;
            assert_eq!((world.status(&unit).await, world.names()), (Status::Provisioned, vec![]));
            world.store.fail_commits(None);
        };
        let (beat, ()) = tokio::join!(world.beat(&unit, well()), mending);
        assert_eq!((beat.unwrap().status, world.names()), (Status::Online, vec!["device.status_changed".to_owned()]));
    });
}

#[test]
fn a_commit_that_fails_refuses_all_who_wait_and_loses_nothing_else() {
    test_world::run(|tree| async move {
        let world = World::start(tree).await;
        let (unit, other) = (world.online().await, world.online().await);
        let measured = Map::from_iter([("level_m".to_owned(), 1.5.into())]);
        world.devices.measured(Arc::clone(&unit.id), measured, By::System).await.unwrap();
        test_world::after(SECOND).await;
        // Quiet: taken over at once, to be written later.
        world.beat(&unit, Report::default()).await.unwrap();
        let before = world.devices.get(&unit.id).await.unwrap();
        world.store.hold_commits();
        let fail = async {
            world.store.held(2).await;
            world.store.fail_commits(Some(StoreError::Io("no disk".into())));
            world.store.release();
            world.store.fail_commits(None);
        };
        let registers = (0..50).map(|_| world.devices.register(new_device(), By::System, None));
        let (refused, beat, ()) = tokio::join!(
            registers.collect::<FuturesUnordered<_>>().collect::<Vec<_>>(),
            world.beat(&other, ill()),
            fail
        );
        let refused = refused.into_iter().map(|made| made.unwrap_err().kind);
        assert!(refused.chain([beat.unwrap_err().kind]).all(|kind| kind == Kind::Unavailable));
        test_world::until(|| world.tree.snapshot()[0].restarts == 1).await;
        test_world::until(|| world.tree.snapshot()[0].state == ActorState::Running).await;
        assert_eq!(world.devices.get(&unit.id).await.unwrap(), before, "with its last heartbeat");
        let readings = world.devices.telemetry(unit.id.to_string()).await.unwrap().readings;
        assert_eq!(readings.len(), 1);
        let all = world.devices.list(DeviceFilter::default(), PageAsk { limit: 100, after: None }).await.unwrap();
        assert_eq!((all.items.len(), world.names()), (2, vec![]));
        world.beat(&other, ill()).await.unwrap();
    });
}

#[test]
fn what_is_not_durable_yet_is_seen_by_the_next_change() {
    test_world::run(|tree| async move {
        let world = World::start(tree).await;
        let (unit, other) = (world.online().await, world.online().await);
        world.devices.command(unit.id.to_string(), order("ping"), By::System, None).await.unwrap();
        let command = world.devices.next_command(Arc::clone(&unit.id), SECOND).await.unwrap().unwrap();
        world.store.hold_commits();
        let key = PrivateKey::generate().unwrap().public().to_jwk();
        let ack = |answer| world.devices.acknowledge(Arc::clone(&unit.id), command.id.clone(), answer, None);
        let rotate = |unit: &Unit| world.devices.rotate(unit.id.to_string(), Some(key.clone()), SECOND, By::System);
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
            ack(Answer::Done),
            ack(Answer::Failed),
            describe("a"),
            describe("b"),
            rotate(&unit),
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
        let world = World::start(tree).await;
        let unit = world.online().await;
        world.devices.command(unit.id.to_string(), order("siren.on"), By::System, None).await.unwrap();
        let before = world.devices.get(&unit.id).await.unwrap();
        assert!(world.tree.inject_panic("devices/devices"));
        test_world::until(|| world.tree.snapshot()[0].restarts == 1).await;
        assert!(world.let_in(&unit).is_ok(), "devices are let in while the actor is down");
        test_world::until(|| world.tree.snapshot()[0].state == ActorState::Running).await;
        assert_eq!(world.devices.get(&unit.id).await.unwrap(), before);
        let command = world.devices.next_command(Arc::clone(&unit.id), SECOND).await.unwrap().unwrap();
        assert_eq!(command.name, "siren.on");
        world.tree.stop().await;
        let again = Tree::new(Arbiter::current(), world.clock.clone());
        let world = World::start_with(again, world.store, DeviceRules::default()).await;
        assert!(world.let_in(&unit).is_ok());
        let done = world.devices.acknowledge(Arc::clone(&unit.id), command.id, Answer::Done, None).await;
        assert_eq!(done.unwrap().state, CommandState::Acked);
        // The server's own absence was not the device's silence: that is counted from its start.
        test_world::after(SECOND * 178).await;
        assert_eq!(world.status(&unit).await, Status::Online);
        test_world::after(SECOND * 4).await;
        assert_eq!(world.status(&unit).await, Status::Offline);
        world.tree.stop().await;
    });
}

#[test]
fn a_panic_under_load_loses_nothing_that_was_acknowledged() {
    test_world::run(|tree| async move {
        let world = World::start(tree).await;
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
        let more = world.unit().await;
        acknowledged.push(more.id.to_string());
        for id in &acknowledged {
            assert_eq!(&*world.devices.get(id).await.unwrap().id, id);
        }
    });
}
