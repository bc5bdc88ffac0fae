//! Authentication, authorization and rate limiting: a route's scope and limits are part of its handler's type.
//!
//! Users authenticate with a session token, devices with a token signed by their own key, all others with an API key.
//! [`Guarded`] authenticates, checks the scope and counts the request; [`Metered`] also reserves the tokens of the body;
//! [`Open`] counts callers without a key by their address. All of them decide by the head of a request, before its body
//! is read.

mod access;
mod admit;
mod client;
mod credential;
mod expect;
mod link;
mod metered;
mod requirement;
mod stay;

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpMessage, HttpRequest, web};
use muster_core::{Error, Kind};
use muster_identity::keys::{KeyRecord, PlanA, Role, Scope};
use muster_identity::{By, Person, missing_permission};
use muster_limits::{AdmissionPart, Estimate};

pub use access::{
    Access, Admin, AgentsControl, AgentsRead, AgentsRun, AlertsPublish, AlertsRead, AnyDevice, AnyPerson, AuditErase,
    AuditRead, Backups, Callers, ChatA, ChatAgent, ChatB, DeviceOrPerson, DevicesCommand, DevicesRead, DevicesWrite,
    EnginesRead, EnginesRun, FirmwareApprove, FirmwareExecute, FirmwareRead, FirmwareWrite, IncidentsRead,
    IncidentsWrite, Listening, MedicalCancer, MedicalChat, MedicalConversations, MedicalProtocols, MedicalStatus,
    MemoryForget, MemoryUse, Meter, MetricsRead, ModelsA, ModelsB, PolicyWrite, SigningKeysRotate, Status, SuperAdmin,
    TrustAnchorsWrite, UsersRead, UsersWrite,
};
use admit::Metering;
pub(crate) use admit::count;
pub use admit::{Reservation, address_name, admit_address, admit_login, login_refused};
pub use client::{base_url, client_address, request_url};
pub use credential::credential_without_token;
pub(crate) use expect::{HeadOnly, expect_continue};
pub use link::OwnerOrLink;
pub use metered::{Anyone, Metered, Priced, Queried, Sent, SentQueried};
pub use requirement::{Guard, GuardedArguments, Requirement};
pub use stay::staying;

use crate::app::App;
use crate::body::refuse_query;
use crate::error::HttpError;

/// A boxed future of this thread.
type Local<T> = Pin<Box<dyn Future<Output = Result<T, HttpError>>>>;

/// The authenticated caller.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The API key. For a user or a device it is synthesized from identifier, scopes and plan.
    pub key: Arc<KeyRecord>,
    /// The user or device; `None` for an API key.
    pub by: Option<By>,
}

/// A request that was authenticated, has the rights of `A` and was counted.
#[derive(Debug)]
pub struct Guarded<A>(PhantomData<A>);

/// A request that needs no credential, counted by client address.
#[derive(Debug)]
pub struct Open(());

/// As [`Open`], for pages of browsers, whose links may carry parameters of others: the query is ignored.
#[derive(Debug)]
pub struct Page(());

impl<A: Access + 'static> FromRequest for Guarded<A> {
    type Error = HttpError;
    type Future = Local<Self>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let request = request.clone();
        Box::pin(async move {
            let app = app(&request)?;
            enter::<A>(&app, &request, || refuse_query(&request)).await?;
            Ok(Self(PhantomData))
        })
    }
}

impl FromRequest for Open {
    type Error = HttpError;
    type Future = Local<Self>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, counted) = (request.clone(), Page::from_request(request, payload));
        Box::pin(async move {
            counted.await?;
            refuse_query(&request)?;
            Ok(Self(()))
        })
    }
}

impl FromRequest for Page {
    type Error = HttpError;
    type Future = Local<Self>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let request = request.clone();
        Box::pin(async move {
            let app = app(&request)?;
            // A DPoP proof is valid once, and the handler may need it, so it is not checked here.
            let proved = request.headers().contains_key("DPoP");
            // A valid key is counted on its own here too, so that callers behind one address do not share a limit.
            let caller = if proved { None } else { credential::caller(&app, &request, Callers::KeysAndPeople).ok() };
            let keyed = match caller {
                Some(caller) => {
                    let metering = Metering::of(&app, &caller, Meter::Status);
                    Some(admit::admit(&app, &request, metering, AdmissionPart::Whole, Estimate::default()).await)
                }
                None => None,
            };
            match keyed {
                Some(Ok(_)) => {}
                Some(Err(refused)) if refused.0.kind == Kind::RateLimited => return Err(refused),
                // The counters of keys are durable, and health must answer while the store does not.
                Some(Err(_)) | None => admit::admit_address(&app, &request).await?,
            }
            Ok(Self(()))
        })
    }
}

/// Returns the caller of an admitted request.
///
/// # Errors
/// `Internal` if the route has no guard.
pub fn caller_of(request: &HttpRequest) -> Result<Caller, HttpError> {
    let caller = request.extensions().get::<Caller>().cloned();
    caller.ok_or_else(|| HttpError::new(Kind::Internal, "a route without a guard requested its caller"))
}

/// Returns the user or device that calls.
///
/// # Errors
/// `Internal` if it is neither, because the route's guard also admits keys.
pub fn by_of(request: &HttpRequest) -> Result<By, HttpError> {
    let by = caller_of(request)?.by;
    by.ok_or_else(|| HttpError::new(Kind::Internal, "a route for users and devices admitted a key"))
}

/// Returns the acting principal: a user, a device or an API key.
///
/// # Errors
/// `Internal` if the route has no guard.
pub fn acting(request: &HttpRequest) -> Result<By, HttpError> {
    let Caller { key, by } = caller_of(request)?;
    Ok(by.unwrap_or(By::Key(key)))
}

/// Returns the user that calls.
///
/// # Errors
/// `Internal` if it is not a user, because the route's guard also admits others.
pub fn person_of(request: &HttpRequest) -> Result<Arc<Person>, HttpError> {
    match by_of(request)? {
        By::Person(person) => Ok(person),
        By::Key(_) | By::Device(_) | By::System => {
            Err(HttpError::new(Kind::Internal, "a route for users admitted another caller"))
        }
    }
}

/// Returns the application's state.
pub fn app(request: &HttpRequest) -> Result<web::Data<App>, HttpError> {
    request.app_data::<web::Data<App>>().cloned().ok_or_else(|| HttpError::new(Kind::Internal, "no application state"))
}

/// Authenticates, authorizes and counts a request without tokens. `check` judges the rest of its head; a request that
/// fails it is counted too, because bad requests must not be free.
async fn enter<A: Access>(
    app: &web::Data<App>,
    request: &HttpRequest,
    check: impl FnOnce() -> Result<(), Error>,
) -> Result<(), HttpError> {
    if expect::take_admitted(request).is_some() {
        return Ok(());
    }
    let caller = authorize::<A>(app, request).await?;
    let metering = Metering::of(app, &caller, A::METER);
    // A request without tokens has nothing to settle.
    drop(admit::admit(app, request, metering, AdmissionPart::Whole, Estimate::default()).await?);
    check().map_err(HttpError)?;
    expect::stop_at_head(request)
}

/// Authenticates and checks the scope. An invalid credential counts against the client address.
async fn authorize<A: Access>(app: &web::Data<App>, request: &HttpRequest) -> Result<Caller, HttpError> {
    let caller = match credential::caller(app, request, A::BY) {
        Ok(caller) => caller,
        Err(refused) => {
            admit::admit_address(app, request).await?;
            return Err(HttpError(refused));
        }
    };
    if let Some(scope) = A::SCOPE
        && !caller.key.has(scope)
    {
        admit::admit_address(app, request).await?;
        return Err(HttpError(lacks(scope)));
    }
    if let (Some(scope), None) = (A::SCOPE_OF_KEYS, &caller.by)
        && !caller.key.has(scope)
    {
        admit::admit_address(app, request).await?;
        return Err(HttpError(lacks(scope)));
    }
    if let (Some(role), None) = (A::ROLE_OF_KEYS, &caller.by)
        && ![role, Role::SuperAdmin].iter().any(|role| caller.key.roles.contains(role))
    {
        admit::admit_address(app, request).await?;
        return Err(HttpError(missing_role(role)));
    }
    if let (Some(permission), Some(by)) = (A::PERMISSION, &caller.by)
        && !by.may(permission)
        && !A::SCOPE_OF_KEYS.is_some_and(|scope| caller.key.has(scope))
    {
        admit::admit_address(app, request).await?;
        return Err(HttpError(missing_permission(permission)));
    }
    if let Some(role) = A::ROLE
        && ![role, Role::SuperAdmin].iter().any(|role| caller.key.roles.contains(role))
    {
        admit::admit_address(app, request).await?;
        return Err(HttpError(missing_role(role)));
    }
    if let Some(endpoint) = A::PLAN_ENDPOINT
        && app.live().config.medical.pro_endpoints.iter().any(|name| name == endpoint)
        && !matches!(caller.key.plan_a, PlanA::Pro | PlanA::Enterprise)
    {
        admit::admit_address(app, request).await?;
        return Err(HttpError(needs_plan()));
    }
    request.extensions_mut().insert(caller.clone());
    Ok(caller)
}

fn missing_role(role: Role) -> Error {
    let needed = match role {
        Role::SuperAdmin => "`super_admin`".to_owned(),
        role => format!("`{}` or `super_admin`", role.name()),
    };
    Error::new(Kind::Forbidden, format!("this needs the role {needed}")).coded("permission_denied")
}

fn needs_plan() -> Error {
    let message = "this needs a key with `plan_a` pro or enterprise: ask the operator, or see `medical.pro_endpoints`";
    Error::new(Kind::Forbidden, message).coded("plan_required")
}

fn lacks(scope: Scope) -> Error {
    Error::new(Kind::Forbidden, format!("this needs a key with the scope `{}`", scope.name()))
}
