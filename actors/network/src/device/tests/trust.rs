//! Who is let in, and who no more.

use super::*;
use muster_core::Kind;

#[test]
fn a_device_is_let_in_by_a_token_that_it_signs_itself() {
    test_world::run(|tree| async move {
        let world = World::start(tree).await;
        let (unit, other) = (world.unit().await, world.unit().await);
        assert_eq!(world.let_in(&unit).unwrap(), unit.id);
        let token = world.token(&unit);
        assert!(world.devices.directory().authenticate(&token, world.clock.now()).is_ok(), "twice, from the cache");
        let late = world.clock.now().plus(SECOND * 120);
        assert_eq!(world.devices.directory().authenticate(&token, late).unwrap_err().kind, Kind::Unauthenticated);
        let stolen = Unit { id: Arc::clone(&unit.id), key: other.key };
        assert_eq!(world.let_in(&stolen).unwrap_err().kind, Kind::Unauthenticated);
    });
}

#[test]
fn a_server_made_key_is_shown_once() {
    test_world::run(|tree| async move {
        let world = World::start(tree).await;
        let made = world.devices.register(new_device(), By::System, None).await.unwrap();
        let key = PrivateKey::from_jwk(made.private_key.unwrap().expose()).unwrap();
        let unit = Unit { id: made.device["id"].as_str().unwrap().into(), key };
        assert!(world.let_in(&unit).is_ok());
        let stored = muster_store::Store::get(&*world.store, muster_store::Tree::Devices, unit.id.as_bytes()).unwrap();
        let text = String::from_utf8(stored.unwrap().bytes).unwrap();
        let secret = unit.key.to_jwk().expose()["d"].as_str().unwrap().to_owned();
        assert!(text.contains(&unit.key.public().x()) && !text.contains(&secret));
    });
}

#[test]
fn a_key_belongs_to_one_device() {
    test_world::run(|tree| async move {
        let world = World::start(tree).await;
        let unit = world.unit().await;
        let new = NewDevice { public_key: Some(unit.key.public().to_jwk()), ..new_device() };
        let refused = world.devices.register(new, By::System, None).await.unwrap_err();
        assert_eq!((refused.kind, refused.code), (Kind::Conflict, Some("key_in_use")));
    });
}

#[test]
fn quarantine_blocks_credentials_and_commands_until_a_release() {
    test_world::run(|tree| async move {
        let world = World::start(tree).await;
        let unit = world.online().await;
        let id = unit.id.to_string();
        world.devices.command(id.clone(), order("siren.on"), By::System, None).await.unwrap();
        world.shift(&unit, Deed::Quarantine).await.unwrap();
        assert_eq!(
            world.names(),
            ["device.command_queued", "device.command_acked", "device.quarantined"],
            "what waits is refused"
        );
        assert_eq!(world.let_in(&unit).unwrap_err().code, Some("device_quarantined"));
        assert_eq!(world.beat(&unit, well()).await.unwrap_err().kind, Kind::Conflict);
        let refused = world.devices.command(id.clone(), order("siren.on"), By::System, None).await.unwrap_err();
        assert_eq!(refused.code, Some("device_not_trusted"));
        assert_eq!(world.shift(&unit, Deed::BeginMaintenance).await.unwrap_err().kind, Kind::Conflict);
        assert_eq!(world.shift(&unit, Deed::Release).await.unwrap().status, Status::Provisioned);
        assert!(world.let_in(&unit).is_ok());
        let commands = world.devices.commands(&id, Default::default()).await.unwrap();
        assert_eq!(commands.items[0].state, CommandState::Refused);
    });
}

#[test]
fn two_devices_under_one_key_are_quarantined_and_an_honest_one_never() {
    test_world::run(|tree| async move {
        let world = World::start(tree).await;
        let unit = world.online().await;
        let boot = |name: &str, seq| Report { boot_id: Some(name.into()), seq: Some(seq), ..Report::default() };
        for (name, seq) in [("a", 1), ("a", 2), ("a", 2), ("b", 1), ("a", 3), ("b", 2)] {
            assert_eq!(world.beat(&unit, boot(name, seq)).await.unwrap().status, Status::Online, "{name} {seq}");
        }
        assert_eq!(world.beat(&unit, boot("a", 4)).await.unwrap_err().code, Some("device_quarantined"));
        assert_eq!(world.status(&unit).await, Status::Quarantined);
        let (name, data) = world.told().remove(0);
        assert_eq!((name.as_str(), &data["by"]), ("device.quarantined", &"system".into()));
        assert!(world.let_in(&unit).is_err());
    });
}

/// Sends a token under the device's name and key id that another key signed.
fn forged(world: &World, unit: &Unit) -> String {
    let token = world.token(unit);
    let (signed, signature) = token.rsplit_once('.').unwrap();
    // Another signature of the right length: its first character is another.
    let first = if signature.starts_with('A') { "B" } else { "A" };
    format!("{signed}.{first}{}", &signature[1..])
}

#[test]
fn bad_signatures_are_counted_audited_and_told_but_take_no_device_off_the_network() {
    test_world::run(|tree| async move {
        let world = World::start(tree).await;
        let unit = world.online().await;
        for _ in 0..500 {
            let refused =
                world.devices.directory().authenticate(&forged(&world, &unit), world.clock.now()).unwrap_err();
            assert_eq!((refused.kind, refused.code), (Kind::Unauthenticated, None));
        }
        test_world::after(SECOND * 2).await;
        let told = world.told();
        assert_eq!((told.len(), &told[0].1["security"]["bad_signatures"]), (1, &500.into()));
        assert_eq!(world.status(&unit).await, Status::Online);
        assert!(world.let_in(&unit).is_ok());
        let audit = muster_store::Scan { limit: 10, ..Default::default() };
        let audit = muster_store::Store::scan(&*world.store, muster_store::Tree::Audit, &audit).unwrap();
        let last = String::from_utf8(audit.items.last().unwrap().1.bytes.clone()).unwrap();
        assert!(last.contains("device.bad_signatures"), "{last}");
    });
}

#[test]
fn bad_signatures_quarantine_where_the_operator_wants_it() {
    test_world::run(|tree| async move {
        let rules = DeviceRules { quarantine_at_bad_signatures: 10, ..DeviceRules::default() };
        let world = World::start_with(tree, Arc::default(), rules).await;
        let unit = world.online().await;
        for _ in 0..10 {
            world.devices.directory().authenticate(&forged(&world, &unit), world.clock.now()).unwrap_err();
        }
        test_world::after(SECOND * 2).await;
        assert_eq!(world.status(&unit).await, Status::Quarantined);
    });
}

#[test]
fn a_rotated_key_and_the_one_before_are_both_taken_for_the_grace() {
    test_world::run(|tree| async move {
        let world = World::start(tree).await;
        let unit = world.unit().await;
        let new = PrivateKey::generate().unwrap();
        let grace = SECOND * 3600;
        let jwk = Some(new.public().to_jwk());
        let rotated = world.devices.rotate(unit.id.to_string(), jwk, grace, By::System).await.unwrap();
        assert_eq!(rotated.device.credentials.unwrap().kid, new.public().thumbprint());
        let renewed = Unit { id: Arc::clone(&unit.id), key: new };
        assert!(world.let_in(&unit).is_ok() && world.let_in(&renewed).is_ok());
        test_world::after(grace).await;
        assert!(world.let_in(&unit).is_err() && world.let_in(&renewed).is_ok());
    });
}

#[test]
fn retirement_destroys_the_credentials_and_is_the_end() {
    test_world::run(|tree| async move {
        let world = World::start(tree).await;
        let unit = world.online().await;
        let gone = world.shift(&unit, Deed::Retire).await.unwrap();
        assert_eq!((gone.status, gone.credentials), (Status::Retired, None));
        assert_eq!(world.names(), ["device.retired"]);
        assert_eq!(world.let_in(&unit).unwrap_err().code, None, "as if it had never been");
        let stored = muster_store::Store::get(&*world.store, muster_store::Tree::Devices, unit.id.as_bytes()).unwrap();
        assert!(!String::from_utf8(stored.unwrap().bytes).unwrap().contains(&unit.key.public().x()));
        for deed in [Deed::Quarantine, Deed::Release, Deed::BeginMaintenance, Deed::EndMaintenance, Deed::Retire] {
            assert_eq!(world.shift(&unit, deed).await.unwrap_err().kind, Kind::Conflict);
        }
        assert_eq!(world.devices.list(DeviceFilter::default(), Default::default()).await.unwrap().items, []);
    });
}
