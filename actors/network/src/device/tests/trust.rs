//! Authentication, quarantine, key rotation and retirement.

use super::*;
use muster_core::Kind;

#[test]
fn a_device_authenticates_with_a_token_that_it_signs() {
    test_world::run(|tree| async move {
        let world = DeviceWorld::start(tree).await;
        let (device, other) = (world.device().await, world.device().await);
        assert_eq!(world.authenticate(&device).unwrap(), device.id);
        let token = world.token(&device);
        assert!(world.devices.directory().authenticate(&token, world.clock.now()).is_ok(), "twice, from the cache");
        let late = world.clock.now().plus(SECOND * 120);
        assert_eq!(world.devices.directory().authenticate(&token, late).unwrap_err().kind, Kind::Unauthenticated);
        let stolen = TestDevice { id: Arc::clone(&device.id), key: other.key };
        assert_eq!(world.authenticate(&stolen).unwrap_err().kind, Kind::Unauthenticated);
    });
}

#[test]
fn a_generated_private_key_is_returned_once_and_never_stored() {
    test_world::run(|tree| async move {
        let world = DeviceWorld::start(tree).await;
        let made = world.devices.register(new_device(), By::System, None).await.unwrap();
        let key = PrivateKey::from_jwk(made.private_key.unwrap().expose()).unwrap();
        let device = TestDevice { id: made.device["id"].as_str().unwrap().into(), key };
        assert!(world.authenticate(&device).is_ok());
        let stored =
            muster_store::Store::get(&*world.store, muster_store::Tree::Devices, device.id.as_bytes()).unwrap();
        let text = String::from_utf8(stored.unwrap().bytes).unwrap();
        let secret = device.key.to_jwk().expose()["d"].as_str().unwrap().to_owned();
        assert!(text.contains(&device.key.public().x()) && !text.contains(&secret));
    });
}

#[test]
fn a_key_belongs_to_one_device() {
    test_world::run(|tree| async move {
        let world = DeviceWorld::start(tree).await;
        let device = world.device().await;
        let new = NewDevice { public_key: Some(device.key.public().to_jwk()), ..new_device() };
        let refused = world.devices.register(new, By::System, None).await.unwrap_err();
        assert_eq!((refused.kind, refused.code), (Kind::Conflict, Some("key_in_use")));
    });
}

#[test]
fn quarantine_blocks_credentials_and_commands_until_a_release() {
    test_world::run(|tree| async move {
        let world = DeviceWorld::start(tree).await;
        let device = world.online().await;
        let id = device.id.to_string();
        world.devices.command(id.clone(), new_command("siren.on"), By::System, None).await.unwrap();
        world.apply(&device, DeviceAction::Quarantine).await.unwrap();
        assert_eq!(
            world.published_names(),
            ["device.command_queued", "device.command_acked", "device.quarantined"],
            "what waits is refused"
        );
        assert_eq!(world.authenticate(&device).unwrap_err().code, Some("device_quarantined"));
        assert_eq!(world.heartbeat(&device, healthy()).await.unwrap_err().kind, Kind::Conflict);
        let refused = world.devices.command(id.clone(), new_command("siren.on"), By::System, None).await.unwrap_err();
        assert_eq!(refused.code, Some("device_not_trusted"));
        assert_eq!(world.apply(&device, DeviceAction::BeginMaintenance).await.unwrap_err().kind, Kind::Conflict);
        assert_eq!(world.apply(&device, DeviceAction::Release).await.unwrap().status, Status::Provisioned);
        assert!(world.authenticate(&device).is_ok());
        let commands = world.devices.commands(&id, Default::default()).await.unwrap();
        assert_eq!(commands.items[0].state, CommandState::Refused);
    });
}

#[test]
fn two_devices_under_one_key_are_quarantined_and_an_honest_one_never() {
    test_world::run(|tree| async move {
        let world = DeviceWorld::start(tree).await;
        let device = world.online().await;
        let boot = |name: &str, seq| Heartbeat { boot_id: Some(name.into()), seq: Some(seq), ..Heartbeat::default() };
        for (name, seq) in [("a", 1), ("a", 2), ("a", 2), ("b", 1), ("a", 3), ("b", 2)] {
            assert_eq!(world.heartbeat(&device, boot(name, seq)).await.unwrap().status, Status::Online, "{name} {seq}");
        }
        assert_eq!(world.heartbeat(&device, boot("a", 4)).await.unwrap_err().code, Some("device_quarantined"));
        assert_eq!(world.status(&device).await, Status::Quarantined);
        let (name, data) = world.published().remove(0);
        assert_eq!((name.as_str(), &data["by"]), ("device.quarantined", &"system".into()));
        assert!(world.authenticate(&device).is_err());
    });
}

/// Returns a token with the device's identifier and key id but an invalid signature.
fn forged(world: &DeviceWorld, device: &TestDevice) -> String {
    let token = world.token(device);
    let (signed, signature) = token.rsplit_once('.').unwrap();
    // A different signature of the right length: its first character is changed.
    let first = if signature.starts_with('A') { "B" } else { "A" };
    format!("{signed}.{first}{}", &signature[1..])
}

#[test]
fn bad_signatures_are_counted_audited_and_published_but_take_no_device_off_the_network() {
    test_world::run(|tree| async move {
        let world = DeviceWorld::start(tree).await;
        let device = world.online().await;
        for _ in 0..500 {
            let refused =
                world.devices.directory().authenticate(&forged(&world, &device), world.clock.now()).unwrap_err();
            assert_eq!((refused.kind, refused.code), (Kind::Unauthenticated, None));
        }
        test_world::after(SECOND * 2).await;
        let published = world.published();
        assert_eq!((published.len(), &published[0].1["security"]["bad_signatures"]), (1, &500.into()));
        assert_eq!(world.status(&device).await, Status::Online);
        assert!(world.authenticate(&device).is_ok());
        let audit = muster_store::Scan { limit: 10, ..Default::default() };
        let audit = muster_store::Store::scan(&*world.store, muster_store::Tree::AuditLog, &audit).unwrap();
        let last = String::from_utf8_lossy(&audit.items.last().unwrap().1.bytes).into_owned();
        assert!(last.contains("device.bad_signatures"), "{last}");
    });
}

#[test]
fn bad_signatures_quarantine_at_the_configured_threshold() {
    test_world::run(|tree| async move {
        let rules = DeviceRules { quarantine_at_bad_signatures: 10, ..DeviceRules::default() };
        let world = DeviceWorld::start_with(tree, Arc::default(), rules).await;
        let device = world.online().await;
        for _ in 0..10 {
            world.devices.directory().authenticate(&forged(&world, &device), world.clock.now()).unwrap_err();
        }
        test_world::after(SECOND * 2).await;
        assert_eq!(world.status(&device).await, Status::Quarantined);
    });
}

#[test]
fn the_rotated_and_the_previous_key_are_both_accepted_for_the_grace() {
    test_world::run(|tree| async move {
        let world = DeviceWorld::start(tree).await;
        let device = world.device().await;
        let new = PrivateKey::generate().unwrap();
        let grace = SECOND * 3600;
        let jwk = Some(new.public().to_jwk());
        let rotated = world.devices.rotate(device.id.to_string(), jwk, grace, By::System).await.unwrap();
        assert_eq!(rotated.device.credentials.unwrap().kid, new.public().thumbprint());
        let renewed = TestDevice { id: Arc::clone(&device.id), key: new };
        assert!(world.authenticate(&device).is_ok() && world.authenticate(&renewed).is_ok());
        test_world::after(grace).await;
        assert!(world.authenticate(&device).is_err() && world.authenticate(&renewed).is_ok());
    });
}

#[test]
fn retirement_destroys_the_credentials_and_is_final() {
    test_world::run(|tree| async move {
        let world = DeviceWorld::start(tree).await;
        let device = world.online().await;
        let gone = world.apply(&device, DeviceAction::Retire).await.unwrap();
        assert_eq!((gone.status, gone.credentials), (Status::Retired, None));
        assert_eq!(world.published_names(), ["device.retired"]);
        assert_eq!(world.authenticate(&device).unwrap_err().code, None, "as if it had never been");
        let stored =
            muster_store::Store::get(&*world.store, muster_store::Tree::Devices, device.id.as_bytes()).unwrap();
        assert!(!String::from_utf8(stored.unwrap().bytes).unwrap().contains(&device.key.public().x()));
        for action in [
            DeviceAction::Quarantine,
            DeviceAction::Release,
            DeviceAction::BeginMaintenance,
            DeviceAction::EndMaintenance,
            DeviceAction::Retire,
        ] {
            assert_eq!(world.apply(&device, action).await.unwrap_err().kind, Kind::Conflict);
        }
        assert_eq!(world.devices.list(DeviceFilter::default(), Default::default()).await.unwrap().items, []);
    });
}
