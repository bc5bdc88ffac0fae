//! Queries of devices and snapshots of their channels.

use muster_geo::{BBox, Geometry, Point};
use tokio::sync::oneshot;

use super::*;
use muster_core::page::PageParams;
use muster_core::precondition::IfMatch;
use muster_core::principal::Viewer;
use muster_core::principal::{Permission, Permissions};
use muster_feed::{Denied, SnapshotReply, SnapshotRequest, SnapshotSource, StateItem};

async fn at(world: &DeviceWorld, name: &str, lon: f64) -> Arc<str> {
    let description = Description {
        location: Some(Point::new(lon, 50.0)),
        tags: vec!["river".into()],
        groups: vec![format!("group-{name}")],
        ..Description::default()
    };
    let new = NewDevice { name: name.into(), description, ..new_device() };
    let made = world.devices.register(new, By::System, None).await.unwrap();
    made.device["id"].as_str().unwrap().into()
}

#[test]
fn devices_are_found_by_attributes_and_location() {
    test_world::run(|tree| async move {
        let world = DeviceWorld::start(tree).await;
        let (a, b) = (at(&world, "a", 9.0).await, at(&world, "b", 9.01).await);
        let c = at(&world, "c", -170.0).await;
        let list = async |filter: DeviceFilter| -> Vec<Arc<str>> {
            let page = world.devices.list(filter, PageParams::default()).await.unwrap();
            page.items.into_iter().map(|device| device.id).collect()
        };
        let none = DeviceFilter::default;
        let mut newest_first = [a.clone(), b.clone(), c.clone()];
        newest_first.sort_by(|one, other| other.cmp(one));
        assert_eq!(list(none()).await, newest_first);
        assert_eq!(list(DeviceFilter { group: Some("group-b".into()), ..none() }).await, std::slice::from_ref(&b));
        assert_eq!(list(DeviceFilter { q: Some("A".into()), status: Some(Status::Online), ..none() }).await, []);
        assert_eq!(list(DeviceFilter { kind: Some(DeviceKind::Drone), ..none() }).await, []);
        let pacific = Some([170.0, 40.0, -160.0, 60.0]);
        assert_eq!(list(DeviceFilter { bbox: pacific, ..none() }).await, std::slice::from_ref(&c));
        // 0.01 degrees of longitude at 50 degrees north: 6,371,008.8 m * 0.01 * pi / 180 * cos(50 degrees) = 714.7 m.
        let near = world.devices.near(Point::new(9.0, 50.0), 1_000.0, 10).await.unwrap();
        let found: Vec<_> = near.iter().map(|(device, metres)| (device.id.clone(), metres.round())).collect();
        assert_eq!(found, [(a.clone(), 0.0), (b.clone(), 715.0)]);
        let ring = serde_json::json!([[8.99, 49.99], [9.005, 49.99], [9.005, 50.01], [8.99, 50.01], [8.99, 49.99]]);
        let polygon = serde_json::json!({ "type": "Polygon", "coordinates": [ring] });
        let shape = serde_json::from_value::<Geometry>(polygon).unwrap().shape().unwrap();
        let (page, total) = world.devices.within(shape, PageParams::default()).await.unwrap();
        assert_eq!((page.items[0].id.clone(), total), (a, 1));
        let bbox = BBox::new(8.0, 49.0, 10.0, 51.0).unwrap();
        assert!(bbox.contains(&page.items[0].location.unwrap()));
    });
}

#[test]
fn pages_follow_one_another_without_gap_or_repeat() {
    test_world::run(|tree| async move {
        let world = DeviceWorld::start(tree).await;
        let mut made = Vec::new();
        for n in 0..7 {
            made.push(at(&world, &n.to_string(), 1.0).await);
        }
        made.sort_by(|one, other| other.cmp(one));
        let (mut params, mut seen) = (PageParams { limit: 3, after: None }, Vec::new());
        loop {
            let page = world.devices.list(DeviceFilter::default(), params.clone()).await.unwrap();
            seen.push(page.items.into_iter().map(|device| device.id).collect::<Vec<_>>());
            params.after = page.next;
            if params.after.is_none() {
                break;
            }
        }
        assert_eq!(seen, made.chunks(3).map(<[_]>::to_vec).collect::<Vec<_>>());
    });
}

#[test]
fn a_description_changes_only_with_the_current_version() {
    test_world::run(|tree| async move {
        let world = DeviceWorld::start(tree).await;
        let id = at(&world, "a", 9.0).await.to_string();
        world.feed.take();
        let patch = DevicePatch { name: Some("b".into()), location: Some(None), ..DevicePatch::default() };
        let change = |version| world.devices.describe(id.clone(), patch.clone(), By::System, version);
        let changed = change(IfMatch::Version(1)).await.unwrap();
        assert_eq!((changed.name.as_str(), changed.version, changed.geohash), ("b", 2, None));
        let (name, data) = world.published().remove(0);
        assert_eq!((name.as_str(), &data["patch"]["name"]), ("device.updated", &"b".into()));
        assert_eq!(change(IfMatch::Version(1)).await.unwrap_err().kind, muster_core::Kind::PreconditionFailed);
        assert_eq!(change(IfMatch::Version(2)).await.unwrap().version, 2, "nothing changed");
        assert_eq!(world.published_names(), [""; 0]);
        assert_eq!(world.devices.near(Point::new(9.0, 50.0), 1e6, 10).await.unwrap(), []);
    });
}

#[test]
fn rollouts_select_devices_and_receive_their_heartbeats() {
    test_world::run(|tree| async move {
        let world = DeviceWorld::start(tree).await;
        let device = world.online().await;
        let gone = world.device().await;
        world.apply(&gone, DeviceAction::Retire).await.unwrap();
        let mut heartbeats = world.devices.heartbeats();
        let ids = vec![Arc::clone(&device.id), gone.id, "dev_nobody".into()];
        let chosen = world.devices.select(DeviceSelection::Ids(ids)).await.unwrap();
        assert_eq!((chosen.len(), chosen[0].id.clone(), chosen[0].status), (1, device.id.clone(), Status::Online));
        let version = |text: &str| FirmwareVersion { artifact: None, version: text.into(), sequence: 1 };
        let set = FirmwareStateUpdate {
            desired: Some(Some(version("2.0.0"))),
            sync: Some(FirmwareSync::Pending),
            ..Default::default()
        };
        world.devices.set_firmware(Arc::clone(&device.id), set).await.unwrap();
        let report =
            |text| Heartbeat { firmware: Some(version(text)), boot_id: Some("b".into()), ..Heartbeat::default() };
        assert_eq!(world.heartbeat(&device, report("1.0.0")).await.unwrap().desired, Some(version("2.0.0")));
        let outcome = heartbeats.recv().await.unwrap();
        assert_eq!((outcome.device, outcome.firmware), (Arc::clone(&device.id), Some(version("1.0.0"))));
        assert_eq!(world.devices.get(&device.id).await.unwrap().firmware.sync, FirmwareSync::Pending);
        world.heartbeat(&device, report("2.0.0")).await.unwrap();
        let firmware = world.devices.get(&device.id).await.unwrap().firmware;
        assert_eq!((firmware.sync, firmware.previous), (FirmwareSync::InSync, Some(version("1.0.0"))));
        let query = DeviceSelection::Query(DeviceFilter { status: Some(Status::Online), ..DeviceFilter::default() });
        assert_eq!(world.devices.select(query).await.unwrap()[0].firmware.current, Some(version("2.0.0")));
        assert_eq!(world.devices.select(DeviceSelection::Group("none".into())).await.unwrap(), []);
    });
}

async fn state(
    world: &DeviceWorld,
    channel: &str,
    viewer: &str,
    list: &[Permission],
) -> Result<Vec<StateItem>, Denied> {
    let (to, from) = oneshot::channel();
    let viewer = Viewer { id: viewer.into(), permissions: Permissions::of(list) };
    let reply = SnapshotReply::new(move |state| drop(to.send(state)));
    world.devices.request(SnapshotRequest { channel: channel.to_owned(), viewer, reply });
    from.await.unwrap()
}

#[test]
fn a_channel_snapshot_requires_read_permission() {
    test_world::run(|tree| async move {
        let world = DeviceWorld::start(tree).await;
        let (device, gone) = (world.online().await, world.device().await);
        world.apply(&gone, DeviceAction::Retire).await.unwrap();
        let mut readings = Map::new();
        readings.insert("water_cm".into(), 12.into());
        world.devices.measured(Arc::clone(&device.id), readings, By::System).await.unwrap();
        let read = [Permission::DevicesRead];
        let all = state(&world, "devices", "usr_1", &read).await.unwrap();
        assert_eq!((all.len(), all[0].id.as_str(), all[0].version), (1, &*device.id, 2));
        let own = format!("devices:{}", device.id);
        assert_eq!(state(&world, &own, &device.id, &[]).await.unwrap().len(), 1, "a device sees itself");
        assert_eq!(state(&world, &own, "dev_other", &[]).await.unwrap_err(), Denied::NotFound);
        assert_eq!(state(&world, "devices:dev_nobody", "usr_1", &read).await.unwrap_err(), Denied::NotFound);
        let telemetry = state(&world, &format!("{own}:telemetry"), "usr_1", &read).await.unwrap();
        let ids: Vec<_> = telemetry.iter().map(|item| item.id.as_str()).collect();
        assert_eq!(ids, ["health", "readings"]);
        assert!(telemetry[1].data.get().contains("\"water_cm\""));
        let keys: Vec<_> = world.feed.take_latest().into_iter().map(|latest| latest.key).collect();
        assert_eq!(keys, ["health", "readings"]);
    });
}
