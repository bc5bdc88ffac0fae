//! Heartbeats and their absence.

use super::*;

#[test]
fn a_device_comes_online_with_its_first_heartbeat_and_the_rules_of_health_count() {
    test_world::run(|tree| async move {
        let world = DeviceWorld::start(tree).await;
        let device = world.device().await;
        assert_eq!(world.status(&device).await, Status::Provisioned);
        assert_eq!(world.published_names(), ["device.created"]);
        assert_eq!(world.heartbeat(&device, healthy()).await.unwrap().status, Status::Online);
        let (name, data) = world.published().remove(0);
        assert_eq!(
            (name.as_str(), &data["from"], &data["to"]),
            ("device.status_changed", &"provisioned".into(), &"online".into())
        );
        assert_eq!((&data["patch"]["status"], &data["version"]), (&"online".into(), &2.into()));
        test_world::after(SECOND * 31).await;
        assert_eq!(world.heartbeat(&device, unhealthy()).await.unwrap().status, Status::Degraded);
        let (_, data) = world.published().remove(0);
        assert_eq!((&data["to"], &data["reason"]), (&"degraded".into(), &"battery_pct".into()));
    });
}

#[test]
fn three_intervals_of_silence_are_offline_and_a_heartbeat_ends_it() {
    test_world::run(|tree| async move {
        let world = DeviceWorld::start(tree).await;
        let device = world.online().await;
        test_world::after(SECOND * 100).await;
        world.heartbeat(&device, Heartbeat::default()).await.unwrap();
        // That heartbeat started a new interval of 180 s.
        test_world::after(SECOND * 178).await;
        assert_eq!(world.status(&device).await, Status::Online);
        test_world::after(SECOND * 4).await;
        assert_eq!(world.status(&device).await, Status::Offline);
        let (name, data) = world.published().remove(0);
        assert_eq!((name.as_str(), &data["to"]), ("device.status_changed", &"offline".into()));
        assert_eq!(world.heartbeat(&device, Heartbeat::default()).await.unwrap().status, Status::Online);
    });
}

#[test]
fn a_flapping_device_is_published_once_in_30_s_with_its_final_status() {
    test_world::run(|tree| async move {
        let world = DeviceWorld::start(tree).await;
        let device = world.online().await;
        // The first heartbeat was published; these five changes fall into its window of 30 s.
        for n in 0..5 {
            test_world::after(SECOND).await;
            world.heartbeat(&device, if n % 2 == 0 { unhealthy() } else { healthy() }).await.unwrap();
        }
        assert_eq!(world.published_names(), [""; 0]);
        assert_eq!(world.status(&device).await, Status::Degraded);
        test_world::after(SECOND * 30).await;
        let published = world.published();
        assert_eq!(published.len(), 1, "{published:?}");
        let data = &published[0].1;
        assert_eq!(
            (&data["from"], &data["to"], &data["suppressed"]),
            (&"online".into(), &"degraded".into(), &5.into())
        );
        let page = world.devices.history(&device.id, Default::default()).await.unwrap();
        assert_eq!(page.items.iter().filter(|entry| entry.kind == "status").count(), 6, "history keeps every change");
    });
}

#[test]
fn heartbeats_are_stored_once_a_minute_and_at_shutdown() {
    test_world::run(|tree| async move {
        let world = DeviceWorld::start(tree).await;
        let device = world.online().await;
        let before = world.commits();
        for _ in 0..50 {
            test_world::after(SECOND).await;
            world.heartbeat(&device, healthy()).await.unwrap();
        }
        assert_eq!(world.commits(), before, "nothing is written by the heartbeat");
        test_world::after(SECOND * 12).await;
        assert_eq!(world.commits(), before + 1);
        test_world::after(SECOND).await;
        world.heartbeat(&device, healthy()).await.unwrap();
        let mut readings = Map::new();
        readings.insert("water_cm".into(), 12.into());
        world.devices.measured(Arc::clone(&device.id), readings, By::System).await.unwrap();
        let last = world.devices.get(&device.id).await.unwrap();
        world.tree.stop().await;
        let again = Tree::new(Arbiter::current(), world.clock.clone());
        let world = DeviceWorld::start_with(again, world.store, DeviceRules::default()).await;
        assert_eq!(world.devices.get(&device.id).await.unwrap(), last);
        let telemetry = world.devices.telemetry(device.id.to_string()).await.unwrap();
        assert_eq!(telemetry.readings["water_cm"].value, 12);
        world.tree.stop().await;
    });
}

#[test]
fn maintenance_ends_online_or_offline_by_the_last_heartbeat() {
    test_world::run(|tree| async move {
        let world = DeviceWorld::start(tree).await;
        let device = world.online().await;
        world.apply(&device, DeviceAction::BeginMaintenance).await.unwrap();
        test_world::after(SECOND * 400).await;
        assert_eq!(world.status(&device).await, Status::Maintenance, "silence does not count");
        assert_eq!(world.apply(&device, DeviceAction::EndMaintenance).await.unwrap().status, Status::Offline);
        world.apply(&device, DeviceAction::BeginMaintenance).await.unwrap();
        world.heartbeat(&device, Heartbeat::default()).await.unwrap();
        assert_eq!(world.apply(&device, DeviceAction::EndMaintenance).await.unwrap().status, Status::Online);
        test_world::after(SECOND * 182).await;
        assert_eq!(world.status(&device).await, Status::Offline, "and from then on it does");
        let refused = world.apply(&device, DeviceAction::EndMaintenance).await.unwrap_err();
        assert_eq!(refused.kind, muster_core::Kind::Conflict);
    });
}

#[test]
fn a_location_is_published_when_it_changes() {
    test_world::run(|tree| async move {
        let world = DeviceWorld::start(tree).await;
        let device = world.online().await;
        let at = |lon| Heartbeat { location: Some(muster_geo::Point::new(lon, 50.0)), ..Heartbeat::default() };
        world.heartbeat(&device, at(9.0)).await.unwrap();
        let (name, data) = world.published().remove(0);
        assert_eq!((name.as_str(), &data["patch"]["location"]["coordinates"][0]), ("device.located", &9.0.into()));
        world.heartbeat(&device, at(9.5)).await.unwrap();
        assert_eq!(world.published_names(), [""; 0], "at most once in 5 s");
        assert_eq!(
            world.devices.get(&device.id).await.unwrap().location.unwrap().lon,
            9.5,
            "the record has it nevertheless"
        );
        test_world::after(SECOND * 5).await;
        world.heartbeat(&device, at(9.500_01)).await.unwrap();
        assert_eq!(world.published_names(), ["device.located"]);
        test_world::after(SECOND * 5).await;
        // 0.00001 degrees of longitude are 0.7 m here.
        world.heartbeat(&device, at(9.500_02)).await.unwrap();
        assert_eq!(world.published_names(), [""; 0]);
    });
}
