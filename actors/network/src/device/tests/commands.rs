//! Commands from queueing to their final state.

use super::*;
use crate::device::history::MAX_HISTORY;
use muster_core::Kind;
use muster_core::idempotency::Idempotency;
use muster_core::page::PageParams;

const LONG: Duration = Duration::from_secs(30);

#[test]
fn a_waiting_device_receives_a_command_at_once_and_acknowledges_it() {
    test_world::run(|tree| async move {
        let world = DeviceWorld::start(tree).await;
        let device = world.online().await;
        let poll = actix_rt::spawn({
            let (devices, id) = (world.devices.clone(), Arc::clone(&device.id));
            async move { devices.next_command(id, LONG).await }
        });
        test_world::after(SECOND).await;
        let begun = tokio::time::Instant::now();
        world.devices.command(device.id.to_string(), new_command("siren.on"), By::System, None).await.unwrap();
        let command = poll.await.unwrap().unwrap().unwrap();
        assert_eq!(begun.elapsed(), Duration::ZERO, "nothing polls");
        assert_eq!((command.name.as_str(), command.state, command.deliveries), ("siren.on", CommandState::Sent, 1));
        let ack =
            |answer| world.devices.acknowledge(Arc::clone(&device.id), command.id.clone(), answer, Some(1.into()));
        assert_eq!(ack(CommandOutcome::Done).await.unwrap().state, CommandState::Acked);
        assert_eq!(ack(CommandOutcome::Done).await.unwrap().state, CommandState::Acked, "again is no error");
        assert_eq!(ack(CommandOutcome::Failed).await.unwrap_err().kind, Kind::Conflict);
        assert_eq!(world.published_names(), ["device.command_queued", "device.command_sent", "device.command_acked"]);
        let stranger = world.online().await;
        let other = world.devices.acknowledge(stranger.id, command.id.clone(), CommandOutcome::Done, None).await;
        assert_eq!(other.unwrap_err().kind, Kind::NotFound, "another device's command");
    });
}

#[test]
fn a_poll_without_a_command_ends_at_its_timeout() {
    test_world::run(|tree| async move {
        let world = DeviceWorld::start(tree).await;
        let device = world.online().await;
        let begun = tokio::time::Instant::now();
        assert_eq!(world.devices.next_command(Arc::clone(&device.id), LONG).await, Ok(None));
        assert!(begun.elapsed() >= LONG && begun.elapsed() < LONG + SECOND);
    });
}

#[test]
fn an_unacknowledged_command_is_delivered_again_then_expires() {
    test_world::run(|tree| async move {
        let world = DeviceWorld::start(tree).await;
        let device = world.online().await;
        let next = || world.devices.next_command(Arc::clone(&device.id), Duration::ZERO);
        world.devices.command(device.id.to_string(), new_command("reboot"), By::System, None).await.unwrap();
        let first = next().await.unwrap().unwrap();
        assert_eq!(next().await, Ok(None), "not at once");
        test_world::after(SECOND * 30).await;
        let second = next().await.unwrap().unwrap();
        assert_eq!((second.id.as_str(), second.deliveries), (first.id.as_str(), 2));
        test_world::after(SECOND * 300).await;
        assert_eq!(next().await, Ok(None));
        let kept = world.devices.commands(&device.id, PageParams::default()).await.unwrap();
        assert_eq!(kept.items[0].state, CommandState::Expired);
        let late = world.devices.acknowledge(Arc::clone(&device.id), first.id, CommandOutcome::Done, None).await;
        assert_eq!(late.unwrap_err().code, Some("command_finished"));
    });
}

#[test]
fn waiting_and_stored_commands_are_bounded() {
    test_world::run(|tree| async move {
        let world = DeviceWorld::start(tree).await;
        let device = world.online().await;
        let give = || world.devices.command(device.id.to_string(), new_command("ping"), By::System, None);
        for _ in 0..32 {
            give().await.unwrap();
        }
        assert_eq!(give().await.unwrap_err().code, Some("too_many_commands"));
        for _ in 0..230 {
            let next = world.devices.next_command(Arc::clone(&device.id), Duration::ZERO).await.unwrap().unwrap();
            world.devices.acknowledge(Arc::clone(&device.id), next.id, CommandOutcome::Done, None).await.unwrap();
            give().await.unwrap();
        }
        let mut params = PageParams { limit: 60, after: None };
        let (mut kept, mut pages) = (Vec::new(), 0);
        loop {
            let page = world.devices.commands(&device.id, params.clone()).await.unwrap();
            kept.extend(page.items.into_iter().map(|command| command.id));
            pages += 1;
            params.after = page.next;
            if params.after.is_none() {
                break;
            }
        }
        assert!((190..=202).contains(&kept.len()) && pages == 4, "{} in {pages}", kept.len());
        assert!(kept.windows(2).all(|pair| pair[0] > pair[1]), "newest first, none twice");
        let history = world.devices.history(&device.id, PageParams { limit: 200, after: None }).await.unwrap();
        assert_eq!((history.items.len() as u64, history.next), (MAX_HISTORY, None));
        assert!(history.items.windows(2).all(|pair| pair[0].seq == pair[1].seq + 1));
    });
}

#[test]
fn the_same_idempotency_key_returns_the_same_command_even_in_one_batch() {
    test_world::run(|tree| async move {
        let world = DeviceWorld::start(tree).await;
        let device = world.online().await;
        let named = |digest| Some(Idempotency { principal: "usr_1".into(), key: "k".into(), digest: [digest; 32] });
        let give =
            |digest| world.devices.command(device.id.to_string(), new_command("ping"), By::System, named(digest));
        world.store.hold_commits();
        let both = async { tokio::join!(give(1), give(1), give(2)) };
        let release = async {
            world.store.held(1).await;
            world.store.release();
        };
        let ((one, two, other), ()) = tokio::join!(both, release);
        let (one, two) = (one.unwrap(), two.unwrap());
        assert_eq!((one.replayed, two.replayed, &one.command), (false, true, &two.command));
        assert_eq!(other.unwrap_err().kind, Kind::IdempotencyConflict);
        assert!(give(1).await.unwrap().replayed);
        assert_eq!(world.devices.commands(&device.id, PageParams::default()).await.unwrap().items.len(), 1);
    });
}
