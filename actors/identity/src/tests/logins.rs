//! Logins.

use super::*;
use muster_core::Kind;
use muster_core::principal::{Permissions, UserRole};
use muster_core::test_world::run;

fn parts(error: &Error) -> (Kind, Option<&'static str>, &str, bool) {
    (error.kind, error.code, &error.message, error.retry_after.is_some())
}

#[test]
fn the_first_administrator_is_created_once_and_has_every_permission() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        assert_eq!(fixture.identity.create_first(None).await.unwrap(), None, "there is a user");
        let admin = fixture.admin().await;
        assert_eq!((admin.role, admin.permissions), (UserRole::SuperAdmin, Permissions::all()));
        let fixture = fixture.restart().await;
        assert_eq!(fixture.identity.user_count(), 1);
        assert_eq!(fixture.identity.create_first(None).await.unwrap(), None);
    });
}

#[test]
fn a_random_first_password_is_returned_and_valid() {
    run(|tree| async move {
        let store = Arc::new(MemStore::default());
        let fixture = TestIdentity::on(&tree, store, tempfile::tempdir().unwrap(), "identity").await;
        let password = fixture.identity.create_first(None).await.unwrap().unwrap();
        assert!(password.len() >= 24, "18 random bytes");
        fixture.login_with(FIRST_EMAIL, &password).await.unwrap();
    });
}

/// Number 21 of the adversarial tests: the responses are equal, and so is the work, measured in password hashes.
#[test]
fn a21_unknown_wrong_locked_and_disabled_logins_cost_the_same_and_return_the_same_error() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        let off = fixture.create("off@example.org", UserRole::Viewer).await;
        let patch = UserPatch { disabled: Some(true), ..UserPatch::default() };
        fixture.identity.patch_user(By::System, off.id.clone(), patch, IfMatch::Any).await.unwrap();
        fixture.create("locked@example.org", UserRole::Viewer).await;
        for _ in 0..10 {
            fixture.login_with("locked@example.org", "wrong").await.unwrap_err();
        }
        let cases = [
            ("nobody@example.org", PASSWORD),
            (FIRST_EMAIL, "wrong"),
            ("locked@example.org", PASSWORD),
            ("off@example.org", PASSWORD),
        ];
        let mut errors = Vec::new();
        for (email, password) in cases {
            let before = fixture.identity.password_hashes();
            let error = fixture.login_with(email, password).await.unwrap_err();
            assert_eq!(fixture.identity.password_hashes() - before, 1, "{email}: one hash");
            errors.push(error);
        }
        assert_eq!(
            parts(&errors[0]),
            (Kind::Unauthenticated, Some("invalid_credentials"), "e-mail or password is wrong", false)
        );
        assert!(errors.iter().all(|error| *error == errors[0]), "{errors:?}");
    });
}

/// Number 22: failed logins lock an account for 15 minutes at most, and end no session.
#[test]
fn a22_a_lock_expires_and_does_not_affect_open_sessions() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        let open = fixture.login(FIRST_EMAIL).await.unwrap();
        for _ in 0..1000 {
            // Above the total rate, an attempt is rejected before it is counted.
            fixture.login_with(FIRST_EMAIL, "guess").await.unwrap_err();
        }
        assert!(fixture.login(FIRST_EMAIL).await.is_err(), "locked");
        assert!(fixture.admit(&open.token).is_ok(), "open sessions stay live");
        wait(15 * 60).await;
        fixture.login(FIRST_EMAIL).await.unwrap();
    });
}

#[test]
fn a_login_renews_a_hash_with_outdated_parameters() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        let user = fixture.identity.user(FIRST_EMAIL).await.unwrap().unwrap();
        let old = Hasher { m_kib: 16, t: 1, p: 1 }.hash(PASSWORD).unwrap();
        let stale = UserRecord { password: super::super::users::Phc(old.clone()), ..UserRecord::clone(&user) };
        let batch = muster_store::Batch::put(UserRecord::TREE, user.id.as_bytes(), stale.encode().unwrap());
        fixture.store.commit(batch).await.unwrap();
        let fixture = fixture.restart().await;
        fixture.login(FIRST_EMAIL).await.unwrap();
        let user = fixture.identity.user(FIRST_EMAIL).await.unwrap().unwrap();
        assert!(user.password.0 != old && user.password.0.contains("m=8,"), "{}", user.password.0);
        fixture.login(FIRST_EMAIL).await.unwrap();
    });
}

#[test]
fn a24_passwords_that_no_user_can_have_are_rejected_before_hashing() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        let before = fixture.identity.password_hashes();
        for password in ["a".repeat(1 << 20), "nul\0".to_owned()] {
            let error = fixture.login_with(FIRST_EMAIL, &password).await.unwrap_err();
            assert_eq!(
                (error.kind, error.fields[0].loc.as_slice()),
                (Kind::Invalid, ["body", "password"].map(String::from).as_slice())
            );
        }
        assert_eq!(fixture.identity.password_hashes(), before);
        // The same letters, composed and decomposed (example of Unicode, UAX #15).
        let new = NewUser { email: "a@b.c".into(), name: String::new(), role: UserRole::Viewer, grants: vec![] };
        fixture.identity.create_user(By::System, new, "\u{212B}ngström".to_owned(), None).await.unwrap();
        fixture.login_with("a@b.c", "A\u{030A}ngstro\u{0308}m").await.unwrap();
    });
}

#[test]
fn the_65th_session_of_a_user_ends_the_oldest() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        let first = fixture.login(FIRST_EMAIL).await.unwrap();
        let mut last = None;
        for _ in 0..64 {
            last = Some(fixture.login(FIRST_EMAIL).await.unwrap());
        }
        assert_eq!(fixture.identity.live_sessions(), 64);
        assert!(fixture.admit(&first.token).is_err());
        assert!(fixture.admit(&last.unwrap().token).is_ok());
    });
}
