//! Logging in.

use super::*;
use muster_core::Kind;
use muster_core::principal::{Permissions, UserRole};
use muster_core::test_world::run;

fn refused(error: &Error) -> (Kind, Option<&'static str>, &str, bool) {
    (error.kind, error.code, &error.message, error.retry_after.is_some())
}

#[test]
fn the_first_administrator_is_made_once_and_may_do_everything() {
    run(|tree| async move {
        let house = House::new(&tree).await;
        assert_eq!(house.identity.create_first(None).await.unwrap(), None, "somebody is there");
        let admin = house.admin().await;
        assert_eq!((admin.role, admin.permissions), (UserRole::SuperAdmin, Permissions::all()));
        let house = house.again().await;
        assert_eq!(house.identity.people(), 1);
        assert_eq!(house.identity.create_first(None).await.unwrap(), None);
    });
}

#[test]
fn a_random_first_password_is_shown_and_works() {
    run(|tree| async move {
        let store = Arc::new(MemStore::default());
        let house = House::on(&tree, store, tempfile::tempdir().unwrap(), "identity").await;
        let shown = house.identity.create_first(None).await.unwrap().unwrap();
        assert!(shown.len() >= 24, "18 random bytes");
        house.login_with(FIRST_EMAIL, &shown).await.unwrap();
    });
}

/// Number 21 of the adversarial tests, by work done: what is answered, and how many hashes it cost.
#[test]
fn a21_unknown_wrong_locked_and_disabled_cost_the_same_and_are_told_the_same() {
    run(|tree| async move {
        let house = House::new(&tree).await;
        let off = house.person("off@example.org", UserRole::Viewer).await;
        let patch = UserPatch { disabled: Some(true), ..UserPatch::default() };
        house.identity.patch_user(By::System, off.id.clone(), patch, IfMatch::Any).await.unwrap();
        house.person("locked@example.org", UserRole::Viewer).await;
        for _ in 0..10 {
            house.login_with("locked@example.org", "wrong").await.unwrap_err();
        }
        let cases = [
            ("nobody@example.org", PASSWORD),
            (FIRST_EMAIL, "wrong"),
            ("locked@example.org", PASSWORD),
            ("off@example.org", PASSWORD),
        ];
        let mut told = Vec::new();
        for (email, password) in cases {
            let before = house.identity.hashed();
            let error = house.login_with(email, password).await.unwrap_err();
            assert_eq!(house.identity.hashed() - before, 1, "{email}: one hash");
            told.push(error);
        }
        assert_eq!(
            refused(&told[0]),
            (Kind::Unauthenticated, Some("invalid_credentials"), "e-mail or password is wrong", false)
        );
        assert!(told.iter().all(|error| *error == told[0]), "{told:?}");
    });
}

/// Number 22: whoever fails for another locks that one out for a quarter of an hour at most, and out of no session.
#[test]
fn a22_a_lock_ends_and_spares_open_sessions() {
    run(|tree| async move {
        let house = House::new(&tree).await;
        let open = house.login(FIRST_EMAIL).await.unwrap();
        for _ in 0..1000 {
            // Past the rate of all together the attempt is refused before it counts.
            house.login_with(FIRST_EMAIL, "guess").await.unwrap_err();
        }
        assert!(house.login(FIRST_EMAIL).await.is_err(), "locked");
        assert!(house.admit(&open.token).is_ok(), "who is logged in stays so");
        wait(15 * 60).await;
        house.login(FIRST_EMAIL).await.unwrap();
    });
}

#[test]
fn a_login_with_old_parameters_is_hashed_anew() {
    run(|tree| async move {
        let house = House::new(&tree).await;
        let user = house.identity.user(FIRST_EMAIL).await.unwrap().unwrap();
        let old = Hasher { m_kib: 16, t: 1, p: 1 }.hash(PASSWORD).unwrap();
        let stale = UserRecord { password: super::super::users::Phc(old.clone()), ..UserRecord::clone(&user) };
        let batch = muster_store::Batch::put(UserRecord::TREE, user.id.as_bytes(), stale.encode().unwrap());
        house.store.commit(batch).await.unwrap();
        let house = house.again().await;
        house.login(FIRST_EMAIL).await.unwrap();
        let user = house.identity.user(FIRST_EMAIL).await.unwrap().unwrap();
        assert!(user.password.0 != old && user.password.0.contains("m=8,"), "{}", user.password.0);
        house.login(FIRST_EMAIL).await.unwrap();
    });
}

#[test]
fn a24_impossible_passwords_are_refused_before_any_work() {
    run(|tree| async move {
        let house = House::new(&tree).await;
        let before = house.identity.hashed();
        for password in ["a".repeat(1 << 20), "nul\0".to_owned()] {
            let error = house.login_with(FIRST_EMAIL, &password).await.unwrap_err();
            assert_eq!(
                (error.kind, error.fields[0].loc.as_slice()),
                (Kind::Invalid, ["body", "password"].map(String::from).as_slice())
            );
        }
        assert_eq!(house.identity.hashed(), before);
        // The same letters, composed and not (Unicode's example in UAX #15).
        let new = NewUser { email: "a@b.c".into(), name: String::new(), role: UserRole::Viewer, grants: vec![] };
        house.identity.create_user(By::System, new, "\u{212B}ngström".to_owned(), None).await.unwrap();
        house.login_with("a@b.c", "A\u{030A}ngstro\u{0308}m").await.unwrap();
    });
}

#[test]
fn nobody_has_more_than_64_sessions_and_the_eldest_ends() {
    run(|tree| async move {
        let house = House::new(&tree).await;
        let first = house.login(FIRST_EMAIL).await.unwrap();
        let mut last = None;
        for _ in 0..64 {
            last = Some(house.login(FIRST_EMAIL).await.unwrap());
        }
        assert_eq!(house.identity.live(), 64);
        assert!(house.admit(&first.token).is_err());
        assert!(house.admit(&last.unwrap().token).is_ok());
    });
}
