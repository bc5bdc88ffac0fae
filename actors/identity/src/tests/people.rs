//! People: who may change whom.

use super::*;
use muster_core::Kind;
use muster_core::idempotency::Idempotency;
use muster_core::principal::{Permission, UserRole};
use muster_core::test_world::run;

fn new(email: &str, role: UserRole) -> NewUser {
    NewUser { email: email.to_owned(), name: String::new(), role, grants: Vec::new() }
}

#[test]
fn an_admin_gives_every_role_but_those_of_administrators() {
    run(|tree| async move {
        let house = House::new(&tree).await;
        let top = house.identity.user(FIRST_EMAIL).await.unwrap().unwrap();
        house.person("boss@example.org", UserRole::Admin).await;
        let boss = house.admit(&house.login("boss@example.org").await.unwrap().token).unwrap().person;
        let by = || By::Person(Arc::clone(&boss));
        let make = |new| house.identity.create_user(by(), new, PASSWORD.to_owned(), None);
        for role in UserRole::ALL {
            let made = make(new(&format!("{}@example.org", role.name()), role)).await;
            let kept = matches!(role, UserRole::Admin | UserRole::SuperAdmin);
            assert_eq!(made.map(|_| ()).map_err(|error| error.kind), if kept { Err(Kind::Forbidden) } else { Ok(()) });
        }
        let grants = vec![Permission::DevicesWrite];
        let granted = make(NewUser { grants, ..new("g@example.org", UserRole::Viewer) }).await;
        assert_eq!(granted.unwrap_err().kind, Kind::Forbidden, "a single grant that the maker lacks");
        let grants = vec![Permission::UsersRead];
        let granted = make(NewUser { grants, ..new("h@example.org", UserRole::Viewer) }).await.unwrap().user;
        assert!(granted.permissions().has(Permission::UsersRead));
        let reset = house.identity.reset_password(by(), top.id.clone(), "a new password".to_owned()).await;
        assert_eq!(reset.unwrap_err().kind, Kind::Forbidden, "no way to somebody's greater rights");
        let patch = UserPatch { role: Some(UserRole::Viewer), ..UserPatch::default() };
        let demoted = house.identity.patch_user(by(), top.id.clone(), patch, IfMatch::Any).await;
        assert_eq!(demoted.unwrap_err().kind, Kind::Forbidden);
        assert_eq!(
            house.identity.delete_user(by(), top.id.clone(), IfMatch::Any).await.unwrap_err().kind,
            Kind::Forbidden
        );
    });
}

#[test]
fn nobody_raises_oneself_nor_touches_another_administrator() {
    run(|tree| async move {
        let house = House::new(&tree).await;
        house.person("boss@example.org", UserRole::Admin).await;
        let peer = house.person("peer@example.org", UserRole::Admin).await;
        let strong = house.person("ops@example.org", UserRole::Viewer).await;
        let grants = Some(vec![Permission::FirmwareApprove]);
        let patch = UserPatch { grants, ..UserPatch::default() };
        house.identity.patch_user(By::System, strong.id.clone(), patch, IfMatch::Any).await.unwrap();
        let boss = house.admit(&house.login("boss@example.org").await.unwrap().token).unwrap().person;
        let change = |id: &str, patch| {
            house.identity.patch_user(By::Person(Arc::clone(&boss)), id.to_owned(), patch, IfMatch::Any)
        };
        let role = |role| UserPatch { role: Some(role), ..UserPatch::default() };
        for raised in [
            role(UserRole::SuperAdmin),
            role(UserRole::Operator),
            role(UserRole::IncidentCommander),
            UserPatch { grants: Some(vec![Permission::DevicesCommand]), ..UserPatch::default() },
        ] {
            assert_eq!(change(&boss.user_id, raised).await.unwrap_err().kind, Kind::Forbidden);
        }
        for patch in [role(UserRole::Viewer), UserPatch { disabled: Some(true), ..UserPatch::default() }] {
            assert_eq!(change(&peer.id, patch).await.unwrap_err().kind, Kind::Forbidden, "of its own rank");
        }
        let stripped = change(&strong.id, UserPatch { grants: Some(vec![]), ..UserPatch::default() }).await;
        assert_eq!(stripped.unwrap_err().kind, Kind::Forbidden, "nor takes a grant that it lacks");
        let name = UserPatch { name: Some("The Boss".to_owned()), ..UserPatch::default() };
        assert_eq!(change(&boss.user_id, name).await.unwrap().name, "The Boss");
        let down = change(&boss.user_id, role(UserRole::Viewer)).await.unwrap();
        assert_eq!(down.role, UserRole::Viewer, "one may step down");
    });
}

#[test]
fn the_last_active_super_admin_stays() {
    run(|tree| async move {
        let house = House::new(&tree).await;
        let top = house.identity.user(FIRST_EMAIL).await.unwrap().unwrap();
        let patches = [
            UserPatch { role: Some(UserRole::Viewer), ..UserPatch::default() },
            UserPatch { disabled: Some(true), ..UserPatch::default() },
        ];
        for patch in patches {
            let error = house.identity.patch_user(By::System, top.id.clone(), patch, IfMatch::Any).await.unwrap_err();
            assert_eq!((error.kind, error.code), (Kind::Conflict, Some("last_super_admin")));
        }
        let removed = house.identity.delete_user(By::System, top.id.clone(), IfMatch::Any).await.unwrap_err();
        assert_eq!(removed.code, Some("last_super_admin"));
        house.person("second@example.org", UserRole::SuperAdmin).await;
        house.identity.delete_user(By::System, top.id.clone(), IfMatch::Any).await.unwrap();
        assert!(house.login(FIRST_EMAIL).await.is_err());
    });
}

#[test]
fn an_e_mail_is_one_persons_whatever_its_case() {
    run(|tree| async move {
        let house = House::new(&tree).await;
        house.person("Ann@Example.org", UserRole::Viewer).await;
        let again = house.identity.create_user(
            By::System,
            new(" ann@example.ORG", UserRole::Viewer),
            PASSWORD.to_owned(),
            None,
        );
        assert_eq!(again.await.unwrap_err().code, Some("email_taken"));
        house.login("ANN@example.org").await.unwrap();
    });
}

#[test]
fn a_person_is_made_once_for_an_idempotency_key() {
    run(|tree| async move {
        let house = House::new(&tree).await;
        let asked = Idempotency { principal: "usr_1".into(), key: "k".into(), digest: [1; 32] };
        let make = || {
            let new = new("ann@example.org", UserRole::Viewer);
            house.identity.create_user(By::System, new, PASSWORD.to_owned(), Some(asked.clone()))
        };
        let (first, again) = (make().await.unwrap(), make().await.unwrap());
        assert_eq!((first.given, again.given), (Given::Now, Given::Before));
        assert_eq!(first.user.id, again.user.id);
    });
}

#[test]
fn a_change_needs_the_version_that_is_there() {
    run(|tree| async move {
        let house = House::new(&tree).await;
        let ann = house.person("ann@example.org", UserRole::Viewer).await;
        let rename = || UserPatch { name: Some("Ann".to_owned()), ..UserPatch::default() };
        let patch = |at| house.identity.patch_user(By::System, ann.id.clone(), rename(), IfMatch::Version(at));
        assert_eq!(patch(7).await.unwrap_err().kind, Kind::PreconditionFailed);
        let changed = patch(1).await.unwrap();
        assert_eq!((changed.version, changed.pv), (2, 1), "a name changes nothing that one may do");
        assert!(house.actions().contains(&"user_updated".to_owned()));
    });
}
