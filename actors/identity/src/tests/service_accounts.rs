//! Service accounts: their trail in the audit log, the end of their sessions, restarts.

use super::*;
use muster_core::Kind;
use muster_core::test_world::run;

fn new(name: &str, expires_at: Option<muster_core::Millis>) -> NewServiceAccount {
    NewServiceAccount { name: name.to_owned(), role: UserRole::Viewer, expires_at }
}

impl TestIdentity {
    async fn exchange(&self, id: &str, secret: &str) -> Result<IssuedTokens, Error> {
        match self.identity.begin_service_login(id, Origin::default()).await? {
            LoginAdmission::Admitted(pending) => self.identity.finish_service_login(*pending, secret).await,
            LoginAdmission::Refused(excess) => Err(excess.into()),
        }
    }
}

#[test]
fn every_change_of_a_service_account_is_audited_and_no_secret_is_stored() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        let before = fixture.actions().len();
        let issued = fixture.identity.create_service_account(By::System, new("wall", None), None).await.unwrap();
        let id = issued.account.id.clone();
        let tokens = fixture.exchange(&id, &issued.secret).await.unwrap();
        let watch = fixture.identity.watch_session(&tokens.session_id).unwrap();
        let patch = ServiceAccountPatch { role: Some(UserRole::Auditor), ..ServiceAccountPatch::default() };
        fixture.identity.patch_service_account(By::System, id.clone(), patch, IfMatch::Any).await.unwrap();
        assert!(!watch.revoked.is_cancelled(), "a new role applies to the open session");
        let grace = Duration::from_secs(60);
        let rotated = fixture.identity.rotate_service_account(By::System, id.clone(), grace).await.unwrap();
        fixture.identity.delete_service_account(By::System, id.clone()).await.unwrap();
        assert!(watch.revoked.is_cancelled(), "before the response");
        let actions = ["created", "updated", "rotated", "deleted"].map(|verb| format!("service_account_{verb}"));
        let [created, updated, rotation, deleted] = actions;
        assert_eq!(fixture.actions()[before..], [created, "login".to_owned(), updated, rotation, deleted]);
        let stored = format!("{:?}", fixture.audit());
        assert!(!stored.contains(&issued.secret) && !stored.contains(&rotated.secret));
        let gone = fixture.exchange(&id, &rotated.secret).await.unwrap_err();
        assert_eq!((gone.kind, gone.code), (Kind::Unauthenticated, Some("invalid_credentials")));
    });
}

#[test]
fn sessions_end_with_the_account_also_after_a_restart_and_a_new_expiry_ends_them_at_once() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        let expires = Some(START.plus(Duration::from_secs(100)));
        let issued = fixture.identity.create_service_account(By::System, new("drill", expires), None).await.unwrap();
        let id = issued.account.id.clone();
        let tokens = fixture.exchange(&id, &issued.secret).await.unwrap();
        let fixture = fixture.restart().await;
        assert_eq!(fixture.admit(&tokens.token).unwrap().person.role, UserRole::Viewer);
        wait(101).await;
        assert!(fixture.admit(&tokens.token).is_err(), "the account has expired");
        assert!(fixture.identity.refresh(&tokens.refresh_token, None).await.is_err());
        assert!(fixture.exchange(&id, &issued.secret).await.is_err());
        let expires_at = Some(START.plus(Duration::from_secs(10_000)));
        let patch = ServiceAccountPatch { expires_at, ..ServiceAccountPatch::default() };
        fixture.identity.patch_service_account(By::System, id.clone(), patch.clone(), IfMatch::Any).await.unwrap();
        let tokens = fixture.exchange(&id, &issued.secret).await.unwrap();
        fixture.identity.patch_service_account(By::System, id, patch, IfMatch::Any).await.unwrap();
        assert!(fixture.admit(&tokens.token).is_err());
    });
}

#[test]
fn guesses_of_a_secret_lock_the_account_like_those_of_a_password() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        let issued = fixture.identity.create_service_account(By::System, new("guessed", None), None).await.unwrap();
        let id = issued.account.id.clone();
        for _ in 0..30 {
            assert!(fixture.exchange(&id, "mss_guess").await.is_err());
        }
        let locked = fixture.exchange(&id, &issued.secret).await.unwrap_err();
        assert_eq!(locked.code, Some("invalid_credentials"), "which is not revealed");
        wait(16 * 60).await;
        assert!(fixture.exchange(&id, &issued.secret).await.is_ok());
    });
}
