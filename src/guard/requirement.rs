//! What a handler's guard requires of a caller, as the API description states it.

use actix_web::FromRequest;
use muster_core::principal::Permission;
use muster_identity::keys::{Role, Scope};
use utoipa::openapi::security::SecurityRequirement;

use super::{Access, Anyone, Callers, Guarded, Meter, Metered, Open, Page, Queried, Sent, SentQueried};

/// The credentials and rights that a guard requires.
#[derive(Debug, Clone, Copy)]
pub struct Requirement {
    /// Which principals may call; `None` of an open route.
    callers: Option<Callers>,
    /// Scope of a key.
    pub scope: Option<Scope>,
    /// Scope of a key on a route that checks users by a permission.
    pub scope_of_keys: Option<Scope>,
    /// Role of a key on a route that checks users by a permission.
    pub role_of_keys: Option<Role>,
    /// Permission of a user.
    pub permission: Option<Permission>,
    /// Role that a key or user needs besides.
    pub role: Option<Role>,
    /// Whether only keys in `X-API-Key` are admitted.
    pub medical: bool,
}

impl Requirement {
    /// No credential is required.
    pub const OPEN: Self = Self {
        callers: None,
        scope: None,
        scope_of_keys: None,
        role_of_keys: None,
        permission: None,
        role: None,
        medical: false,
    };

    /// The requirement of an [`Access`].
    pub const fn of<A: Access>() -> Self {
        Self {
            callers: Some(A::BY),
            scope: A::SCOPE,
            scope_of_keys: A::SCOPE_OF_KEYS,
            role_of_keys: A::ROLE_OF_KEYS,
            permission: A::PERMISSION,
            role: A::ROLE,
            medical: matches!(A::METER, Meter::Medical),
        }
    }

    /// The same, with devices admitted too.
    #[must_use]
    pub const fn or_devices(self) -> Self {
        Self { callers: Some(Callers::DevicesAndPeople), ..self }
    }

    /// Whether no credential is required.
    pub const fn is_open(&self) -> bool {
        self.callers.is_none()
    }

    /// The requirement as a sentence; `None` of an open route.
    pub fn sentence(&self) -> Option<String> {
        let of_caller = self.of_caller()?;
        Some(match self.role {
            Some(Role::SuperAdmin) => format!("{of_caller} Also requires the role `super_admin`."),
            Some(role) => format!("{of_caller} Also requires the role `{}` or `super_admin`.", role.name()),
            None => of_caller,
        })
    }

    fn of_caller(&self) -> Option<String> {
        if self.medical {
            return Some("Requires an API key with the scope `medical`, sent as `X-API-Key`.".to_owned());
        }
        let permission = self.permission.map(Permission::name);
        if let (Some(role), Some(permission)) = (self.role_of_keys, permission) {
            return Some(format!(
                "Requires an API key with the role `{}` or `super_admin`, or a session token of a user with the \
                 permission `{permission}`.",
                role.name()
            ));
        }
        Some(match (self.callers?, self.scope.or(self.scope_of_keys).map(Scope::name), permission) {
            (Callers::KeysAndPeople, Some(scope), Some(permission)) => format!(
                "Requires an API key with the scope `{scope}`, or a session token of a user with the permission \
                 `{permission}` or a role that has this scope."
            ),
            (Callers::KeysAndPeople, Some(scope), None) => format!(
                "Requires an API key with the scope `{scope}`, or a session token of a user whose role has this scope."
            ),
            (Callers::KeysAndPeople, None, _) => "Requires an API key or a session token.".to_owned(),
            (Callers::People, _, Some(permission)) => {
                format!("Requires a session token of a user with the permission `{permission}`.")
            }
            (Callers::People, _, None) => "Requires a session token.".to_owned(),
            (Callers::Devices, ..) => "Requires a token signed by the device.".to_owned(),
            (Callers::DevicesAndPeople, _, Some(permission)) => format!(
                "Requires a token signed by the device, or a session token of a user with the permission \
                 `{permission}`."
            ),
            (Callers::DevicesAndPeople, _, None) => {
                "Requires a token signed by the device, or a session token.".to_owned()
            }
        })
    }

    /// The security schemes, any of which admits a caller; empty of an open route.
    pub fn security(&self) -> Vec<SecurityRequirement> {
        let names: &[&str] = match self.callers {
            None => &[],
            Some(_) if self.medical => &["x_api_key"],
            Some(Callers::KeysAndPeople) => &["key", "token"],
            Some(Callers::People) => &["token"],
            Some(Callers::Devices) => &["device"],
            Some(Callers::DevicesAndPeople) => &["token", "device"],
        };
        names.iter().map(|name| SecurityRequirement::new(*name, Vec::<String>::new())).collect()
    }
}

/// An extractor that decides whether a request is admitted.
pub trait Guard: FromRequest {
    /// What it requires.
    const REQUIREMENT: Requirement;
}

impl<A: Access + 'static> Guard for Guarded<A> {
    const REQUIREMENT: Requirement = Requirement::of::<A>();
}

impl<A: Access + 'static, T, Q> Guard for SentQueried<A, T, Q>
where
    Self: FromRequest,
{
    const REQUIREMENT: Requirement = Requirement::of::<A>();
}

impl<A: Access + 'static, T> Guard for Sent<A, T>
where
    Self: FromRequest,
{
    const REQUIREMENT: Requirement = Requirement::of::<A>();
}

impl<A: Access + 'static, Q> Guard for Queried<A, Q>
where
    Self: FromRequest,
{
    const REQUIREMENT: Requirement = Requirement::of::<A>();
}

impl<A: Access + 'static, T> Guard for Metered<A, T>
where
    Self: FromRequest,
{
    const REQUIREMENT: Requirement = Requirement::of::<A>();
}

impl Guard for Open {
    const REQUIREMENT: Requirement = Requirement::OPEN;
}

impl Guard for Page {
    const REQUIREMENT: Requirement = Requirement::OPEN;
}

impl<T> Guard for Anyone<T>
where
    Self: FromRequest,
{
    const REQUIREMENT: Requirement = Requirement::OPEN;
}

/// A handler's arguments, the first of which is its guard: no route is registered without one.
pub trait GuardedArguments {
    /// What the guard requires.
    const REQUIREMENT: Requirement;
}

macro_rules! guarded_arguments {
    ($(($($rest:ident),*);)*) => {$(
        impl<G: Guard, $($rest),*> GuardedArguments for (G, $($rest,)*) {
            const REQUIREMENT: Requirement = G::REQUIREMENT;
        }
    )*};
}

guarded_arguments! {
    ();
    (B);
    (B, C);
    (B, C, D);
    (B, C, D, E);
    (B, C, D, E, F);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::{
        AgentsRun, AnyDevice, AnyPerson, AuditRead, ChatA, DeviceOrPerson, FirmwareRead, MemoryForget, SuperAdmin,
    };

    #[test]
    fn a_requirement_names_its_scope_and_permission() {
        let sentences = [
            Requirement::of::<ChatA>(),
            Requirement::of::<AgentsRun>(),
            Requirement::of::<MemoryForget>(),
            Requirement::of::<FirmwareRead>(),
            Requirement::of::<AnyPerson>(),
            Requirement::of::<AnyDevice>(),
            Requirement::of::<DeviceOrPerson>(),
            Requirement::of::<SuperAdmin>(),
            Requirement::of::<AuditRead>(),
        ]
        .map(|requirement| requirement.sentence().unwrap());
        assert_eq!(
            sentences,
            [
                "Requires an API key with the scope `chat`, or a session token of a user whose role has this scope.",
                "Requires an API key with the scope `agents`, or a session token of a user with the permission \
                 `agents:control` or a role that has this scope.",
                "Requires an API key or a session token.",
                "Requires a session token of a user with the permission `firmware:read`.",
                "Requires a session token.",
                "Requires a token signed by the device.",
                "Requires a token signed by the device, or a session token.",
                "Requires an API key with the scope `admin`, or a session token of a user whose role has this scope. Also \
                 requires the role `super_admin`.",
                "Requires an API key with the role `auditor` or `super_admin`, or a session token of a user with the \
                 permission `audit:read`.",
            ]
        );
        assert_eq!(Requirement::OPEN.sentence(), None);
    }

    #[test]
    fn an_open_route_names_no_security_scheme() {
        assert!(Requirement::OPEN.security().is_empty());
        assert_eq!(Requirement::of::<ChatA>().security().len(), 2);
    }
}
