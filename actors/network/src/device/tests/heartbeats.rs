//! Heartbeats, and their absence.

use super::*;

#[test]
fn a_device_comes_online_with_its_first_heartbeat_and_the_rules_of_health_count() {
    test_world::run(|tree| async move {
        let world = World::start(tree).await;
        let unit = world.unit().await;
        assert_eq!(world.status(&unit).await, Status::Provisioned);
        assert_eq!(world.names(), ["device.created"]);
        assert_eq!(world.beat(&unit, well()).await.unwrap().status, Status::Online);
        let (name, data) = world.told().remove(0);
        assert_eq!(
            (name.as_str(), &data["from"], &data["to"]),
            ("device.status_changed", &"provisioned".into(), &"online".into())
        );
        assert_eq!((&data["patch"]["status"], &data["version"]), (&"online".into(), &2.into()));
        test_world::after(SECOND * 31).await;
        assert_eq!(world.beat(&unit, ill()).await.unwrap().status, Status::Degraded);
        let (_, data) = world.told().remove(0);
        assert_eq!((&data["to"], &data["reason"]), (&"degraded".into(), &"battery_pct".into()));
    });
}

#[test]
fn three_intervals_of_silence_are_offline_and_a_heartbeat_ends_it() {
    test_world::run(|tree| async move {
        let world = World::start(tree).await;
        let unit = world.online().await;
        test_world::after(SECOND * 100).await;
        world.beat(&unit, Report::default()).await.unwrap();
        // A new span of 180 s began with that one.
        test_world::after(SECOND * 178).await;
        assert_eq!(world.status(&unit).await, Status::Online);
        test_world::after(SECOND * 4).await;
        assert_eq!(world.status(&unit).await, Status::Offline);
        let (name, data) = world.told().remove(0);
        assert_eq!((name.as_str(), &data["to"]), ("device.status_changed", &"offline".into()));
        assert_eq!(world.beat(&unit, Report::default()).await.unwrap().status, Status::Online);
    });
}

#[test]
fn a_device_that_flaps_is_told_of_once_in_30_s_and_in_the_end() {
    test_world::run(|tree| async move {
        let world = World::start(tree).await;
        let unit = world.online().await;
        // Told at the first heartbeat; these five changes fall into its 30 s.
        for n in 0..5 {
            test_world::after(SECOND).await;
            world.beat(&unit, if n % 2 == 0 { ill() } else { well() }).await.unwrap();
        }
        assert_eq!(world.names(), [""; 0]);
        assert_eq!(world.status(&unit).await, Status::Degraded);
        test_world::after(SECOND * 30).await;
        let told = world.told();
        assert_eq!(told.len(), 1, "{told:?}");
        let data = &told[0].1;
        assert_eq!(
            (&data["from"], &data["to"], &data["suppressed"]),
            (&"online".into(), &"degraded".into(), &5.into())
        );
        let page = world.devices.history(&unit.id, Default::default()).await.unwrap();
        assert_eq!(page.items.iter().filter(|entry| entry.kind == "status").count(), 6, "history keeps every change");
    });
}

#[test]
fn heartbeats_are_written_once_a_minute_and_at_a_stop() {
    test_world::run(|tree| async move {
        let world = World::start(tree).await;
        let unit = world.online().await;
        let before = world.commits();
        for _ in 0..50 {
            test_world::after(SECOND).await;
            world.beat(&unit, well()).await.unwrap();
        }
        assert_eq!(world.commits(), before, "nothing is written by the heartbeat");
        test_world::after(SECOND * 12).await;
        assert_eq!(world.commits(), before + 1);
        test_world::after(SECOND).await;
        world.beat(&unit, well()).await.unwrap();
        let mut readings = Map::new();
        readings.insert("water_cm".into(), 12.into());
        world.devices.measured(Arc::clone(&unit.id), readings, By::System).await.unwrap();
        let last = world.devices.get(&unit.id).await.unwrap();
        world.tree.stop().await;
        let again = Tree::new(Arbiter::current(), world.clock.clone());
        let world = World::start_with(again, world.store, DeviceRules::default()).await;
        assert_eq!(world.devices.get(&unit.id).await.unwrap(), last);
        let telemetry = world.devices.telemetry(unit.id.to_string()).await.unwrap();
        assert_eq!(telemetry.readings["water_cm"].value, 12);
        world.tree.stop().await;
    });
}

#[test]
fn maintenance_ends_by_whether_the_device_was_heard_of() {
    test_world::run(|tree| async move {
        let world = World::start(tree).await;
        let unit = world.online().await;
        world.shift(&unit, Deed::BeginMaintenance).await.unwrap();
        test_world::after(SECOND * 400).await;
        assert_eq!(world.status(&unit).await, Status::Maintenance, "silence does not count");
        assert_eq!(world.shift(&unit, Deed::EndMaintenance).await.unwrap().status, Status::Offline);
        world.shift(&unit, Deed::BeginMaintenance).await.unwrap();
        world.beat(&unit, Report::default()).await.unwrap();
        assert_eq!(world.shift(&unit, Deed::EndMaintenance).await.unwrap().status, Status::Online);
        test_world::after(SECOND * 182).await;
        assert_eq!(world.status(&unit).await, Status::Offline, "and from then on it does");
        let refused = world.shift(&unit, Deed::EndMaintenance).await.unwrap_err();
        assert_eq!(refused.kind, muster_core::Kind::Conflict);
    });
}

#[test]
fn a_place_is_told_when_it_is_another() {
    test_world::run(|tree| async move {
        let world = World::start(tree).await;
        let unit = world.online().await;
        let at = |lon| Report { location: Some(muster_geo::Point::new(lon, 50.0)), ..Report::default() };
        world.beat(&unit, at(9.0)).await.unwrap();
        let (name, data) = world.told().remove(0);
        assert_eq!((name.as_str(), &data["patch"]["location"]["coordinates"][0]), ("device.located", &9.0.into()));
        world.beat(&unit, at(9.5)).await.unwrap();
        assert_eq!(world.names(), [""; 0], "at most once in 5 s");
        assert_eq!(world.devices.get(&unit.id).await.unwrap().location.unwrap().lon, 9.5, "it is known all the same");
        test_world::after(SECOND * 5).await;
        world.beat(&unit, at(9.500_01)).await.unwrap();
        assert_eq!(world.names(), ["device.located"]);
        test_world::after(SECOND * 5).await;
        // 0.00001 degrees of longitude are 0.7 m here.
        world.beat(&unit, at(9.500_02)).await.unwrap();
        assert_eq!(world.names(), [""; 0]);
    });
}
