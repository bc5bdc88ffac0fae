//! Users: which changes are allowed to whom.

use super::*;
use muster_core::Kind;
use muster_core::idempotency::Idempotency;
use muster_core::principal::{Permission, UserRole};
use muster_core::test_world::run;

fn new(email: &str, role: UserRole) -> NewUser {
    NewUser { email: email.to_owned(), name: String::new(), role, grants: Vec::new() }
}

#[test]
fn an_admin_assigns_every_role_except_those_of_administrators() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        let top = fixture.identity.user(FIRST_EMAIL).await.unwrap().unwrap();
        fixture.create("boss@example.org", UserRole::Admin).await;
        let boss = fixture.admit(&fixture.login("boss@example.org").await.unwrap().token).unwrap().person;
        let by = || By::Person(Arc::clone(&boss));
        let create = |new| fixture.identity.create_user(by(), new, PASSWORD.to_owned(), None);
        for role in UserRole::ALL {
            let created = create(new(&format!("{}@example.org", role.name()), role)).await;
            let reserved = matches!(role, UserRole::Admin | UserRole::SuperAdmin);
            assert_eq!(
                created.map(|_| ()).map_err(|error| error.kind),
                if reserved { Err(Kind::Forbidden) } else { Ok(()) }
            );
        }
        let grants = vec![Permission::DevicesWrite];
        let granted = create(NewUser { grants, ..new("g@example.org", UserRole::Viewer) }).await;
        assert_eq!(granted.unwrap_err().kind, Kind::Forbidden, "a grant that the creator lacks");
        let grants = vec![Permission::UsersRead];
        let granted = create(NewUser { grants: grants.clone(), ..new("h@example.org", UserRole::Viewer) }).await;
        assert_eq!(granted.unwrap_err().code, Some("approval_required"), "a grant that is guarded");
        let granted = NewUser { grants, ..new("i@example.org", UserRole::Viewer) };
        let granted = fixture.identity.create_user(By::System, granted, PASSWORD.to_owned(), None).await.unwrap().user;
        assert!(granted.permissions().has(Permission::UsersRead));
        let reset = fixture.identity.reset_password(by(), top.id.clone(), "a new password".to_owned()).await;
        assert_eq!(reset.unwrap_err().kind, Kind::Forbidden, "the user has more permissions");
        let patch = UserPatch { role: Some(UserRole::Viewer), ..UserPatch::default() };
        let demoted = fixture.identity.patch_user(by(), top.id.clone(), patch, IfMatch::Any).await;
        assert_eq!(demoted.unwrap_err().kind, Kind::Forbidden);
        assert_eq!(
            fixture.identity.delete_user(by(), top.id.clone(), IfMatch::Any).await.unwrap_err().kind,
            Kind::Forbidden
        );
    });
}

#[test]
fn users_cannot_extend_their_own_permissions_or_change_another_administrator() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        fixture.create("boss@example.org", UserRole::Admin).await;
        let peer = fixture.create("peer@example.org", UserRole::Admin).await;
        let strong = fixture.create("ops@example.org", UserRole::Viewer).await;
        let grants = Some(vec![Permission::FirmwareApprove]);
        let patch = UserPatch { grants, ..UserPatch::default() };
        fixture.identity.patch_user(By::System, strong.id.clone(), patch, IfMatch::Any).await.unwrap();
        let boss = fixture.admit(&fixture.login("boss@example.org").await.unwrap().token).unwrap().person;
        let change = |id: &str, patch| {
            fixture.identity.patch_user(By::Person(Arc::clone(&boss)), id.to_owned(), patch, IfMatch::Any)
        };
        let role = |role| UserPatch { role: Some(role), ..UserPatch::default() };
        for extended in [
            role(UserRole::SuperAdmin),
            role(UserRole::Operator),
            role(UserRole::IncidentCommander),
            UserPatch { grants: Some(vec![Permission::DevicesCommand]), ..UserPatch::default() },
        ] {
            assert_eq!(change(&boss.user_id, extended).await.unwrap_err().kind, Kind::Forbidden);
        }
        for patch in [role(UserRole::Viewer), UserPatch { disabled: Some(true), ..UserPatch::default() }] {
            assert_eq!(change(&peer.id, patch).await.unwrap_err().kind, Kind::Forbidden, "an administrator");
        }
        let stripped = change(&strong.id, UserPatch { grants: Some(vec![]), ..UserPatch::default() }).await;
        assert_eq!(stripped.unwrap_err().kind, Kind::Forbidden, "removes a grant that the caller lacks");
        let name = UserPatch { name: Some("The Boss".to_owned()), ..UserPatch::default() };
        assert_eq!(change(&boss.user_id, name).await.unwrap().name, "The Boss");
        let down = change(&boss.user_id, role(UserRole::Viewer)).await.unwrap();
        assert_eq!(down.role, UserRole::Viewer, "users may reduce their own permissions");
    });
}

#[test]
fn the_last_active_super_admin_cannot_be_removed() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        let top = fixture.identity.user(FIRST_EMAIL).await.unwrap().unwrap();
        let patches = [
            UserPatch { role: Some(UserRole::Viewer), ..UserPatch::default() },
            UserPatch { disabled: Some(true), ..UserPatch::default() },
        ];
        for patch in patches {
            let error = fixture.identity.patch_user(By::System, top.id.clone(), patch, IfMatch::Any).await.unwrap_err();
            assert_eq!((error.kind, error.code), (Kind::Conflict, Some("last_super_admin")));
        }
        let removed = fixture.identity.delete_user(By::System, top.id.clone(), IfMatch::Any).await.unwrap_err();
        assert_eq!(removed.code, Some("last_super_admin"));
        fixture.create("second@example.org", UserRole::SuperAdmin).await;
        fixture.identity.delete_user(By::System, top.id.clone(), IfMatch::Any).await.unwrap();
        assert!(fixture.login(FIRST_EMAIL).await.is_err());
    });
}

#[test]
fn an_e_mail_is_unique_regardless_of_case() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        fixture.create("Ann@Example.org", UserRole::Viewer).await;
        let again = fixture.identity.create_user(
            By::System,
            new(" ann@example.ORG", UserRole::Viewer),
            PASSWORD.to_owned(),
            None,
        );
        assert_eq!(again.await.unwrap_err().code, Some("email_taken"));
        fixture.login("ANN@example.org").await.unwrap();
    });
}

#[test]
fn an_idempotency_key_creates_one_user() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        let request = Idempotency { principal: "usr_1".into(), key: "k".into(), digest: [1; 32] };
        let create = || {
            let new = new("ann@example.org", UserRole::Viewer);
            fixture.identity.create_user(By::System, new, PASSWORD.to_owned(), Some(request.clone()))
        };
        let (first, again) = (create().await.unwrap(), create().await.unwrap());
        assert_eq!((first.replayed, again.replayed), (false, true));
        assert_eq!(first.user.id, again.user.id);
    });
}

#[test]
fn a_change_needs_the_present_version() {
    run(|tree| async move {
        let fixture = TestIdentity::new(&tree).await;
        let ann = fixture.create("ann@example.org", UserRole::Viewer).await;
        let rename = || UserPatch { name: Some("Ann".to_owned()), ..UserPatch::default() };
        let patch = |at| fixture.identity.patch_user(By::System, ann.id.clone(), rename(), IfMatch::Version(at));
        assert_eq!(patch(7).await.unwrap_err().kind, Kind::PreconditionFailed);
        let changed = patch(1).await.unwrap();
        assert_eq!((changed.version, changed.pv), (2, 1), "a new name changes no permission");
        assert!(fixture.actions().contains(&"user_updated".to_owned()));
    });
}
