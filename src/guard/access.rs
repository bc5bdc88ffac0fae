//! Requirements of routes on callers, as types.

use muster_core::principal::Permission;
use muster_identity::keys::{Role, Scope};

/// The limits that a request is counted against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Meter {
    /// Plan of interface A.
    PlanA,
    /// Plan of interface B.
    PlanB,
    /// Category `health` of the agent platform.
    Status,
    /// Category `chat` of the agent platform.
    Chat,
    /// Category `agents` of the agent platform.
    Agents,
    /// Category `control` of the agent platform: pause, resume, redirect and kill.
    Control,
    /// Category `engines` of the agent platform.
    Engines,
    /// Category `memory` of the agent platform.
    Memory,
    /// The medical interface.
    Medical,
    /// Limit of users of the disaster network.
    Person,
    /// Limit of devices.
    Device,
}

/// What a route requires. It is part of the handler's type, so that it cannot be forgotten.
pub trait Access {
    /// Scope that an API key needs.
    const SCOPE: Option<Scope>;
    /// Scope that an API key needs on routes that check users by a permission.
    const SCOPE_OF_KEYS: Option<Scope> = None;
    /// Role that an API key needs on routes that check users by a permission; `super_admin` includes every role.
    const ROLE_OF_KEYS: Option<Role> = None;
    /// Role that a key or user needs besides.
    const ROLE: Option<Role> = None;
    /// Endpoint of the medical interface, for which the settings may require a plan.
    const PLAN_ENDPOINT: Option<&'static str> = None;
    /// Permission that a user needs.
    const PERMISSION: Option<Permission> = None;
    /// Kinds of callers that are permitted.
    const BY: Callers = Callers::KeysAndPeople;
    const METER: Meter;
}

/// The kinds of principals that may call a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Callers {
    /// API keys, and users with a session token, whose scopes follow from their role.
    KeysAndPeople,
    /// Users with a session token: the disaster network.
    People,
    /// Devices, with a token signed by their own key.
    Devices,
    /// Devices for themselves, and users on behalf of a device.
    DevicesAndPeople,
}

macro_rules! person {
    ($($(#[$doc:meta])* $name:ident: $permission:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name;
        impl Access for $name {
            const SCOPE: Option<Scope> = None;
            const PERMISSION: Option<Permission> = $permission;
            const BY: Callers = Callers::People;
            const METER: Meter = Meter::Person;
        }
    )*};
}

person! {
    /// Every logged-in user.
    AnyPerson: None;
    DevicesRead: Some(Permission::DevicesRead);
    DevicesWrite: Some(Permission::DevicesWrite);
    DevicesCommand: Some(Permission::DevicesCommand);
    IncidentsRead: Some(Permission::IncidentsRead);
    IncidentsWrite: Some(Permission::IncidentsWrite);
    AlertsRead: Some(Permission::AlertsRead);
    AlertsPublish: Some(Permission::AlertsPublish);
    FirmwareRead: Some(Permission::FirmwareRead);
    FirmwareWrite: Some(Permission::FirmwareWrite);
    FirmwareExecute: Some(Permission::FirmwareExecute);
    FirmwareApprove: Some(Permission::FirmwareApprove);
    UsersRead: Some(Permission::UsersRead);
    UsersWrite: Some(Permission::UsersWrite);
    /// Management of signing keys.
    SigningKeysRotate: Some(Permission::KeysWrite);
}

/// The feed over HTTP: users who may subscribe, and API keys that may watch agents.
#[derive(Debug, Clone, Copy)]
pub struct Listening;

impl Access for Listening {
    const SCOPE: Option<Scope> = None;
    const SCOPE_OF_KEYS: Option<Scope> = Some(Scope::Agents);
    const PERMISSION: Option<Permission> = Some(Permission::RealtimeSubscribe);
    const METER: Meter = Meter::Person;
}

macro_rules! agents {
    ($($(#[$doc:meta])* $name:ident: $permission:expr, $meter:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name;
        impl Access for $name {
            const SCOPE: Option<Scope> = None;
            const SCOPE_OF_KEYS: Option<Scope> = Some(Scope::Agents);
            const PERMISSION: Option<Permission> = Some($permission);
            const METER: Meter = Meter::$meter;
        }
    )*};
}

// A user's role grants either the scope, for tasks of their own, or the permission, for all tasks.
agents! {
    /// Reading agents and tasks.
    AgentsRead: Permission::AgentsRead, Status;
    /// Running agents.
    AgentsRun: Permission::AgentsControl, Agents;
    /// Controlling tasks of agents.
    AgentsControl: Permission::AgentsControl, Control;
}

/// Backups, which contain everybody's data. The handler checks what the role may fetch.
#[derive(Debug, Clone, Copy)]
pub struct Backups;

impl Access for Backups {
    const SCOPE: Option<Scope> = Some(Scope::Admin);
    const ROLE: Option<Role> = Some(Role::Operations);
    const METER: Meter = Meter::Status;
}

/// What only a super_admin may do.
#[derive(Debug, Clone, Copy)]
pub struct SuperAdmin;

impl Access for SuperAdmin {
    const SCOPE: Option<Scope> = Some(Scope::Admin);
    const ROLE: Option<Role> = Some(Role::SuperAdmin);
    const METER: Meter = Meter::Status;
}

/// The audit log.
#[derive(Debug, Clone, Copy)]
pub struct AuditRead;

impl Access for AuditRead {
    const SCOPE: Option<Scope> = None;
    const ROLE_OF_KEYS: Option<Role> = Some(Role::Auditor);
    const PERMISSION: Option<Permission> = Some(Permission::AuditRead);
    const METER: Meter = Meter::Status;
}

/// The governance policy, which people replace.
#[derive(Debug, Clone, Copy)]
pub struct PolicyWrite;

impl Access for PolicyWrite {
    const SCOPE: Option<Scope> = None;
    const ROLE: Option<Role> = Some(Role::SuperAdmin);
    const BY: Callers = Callers::People;
    const METER: Meter = Meter::Status;
}

/// Erasing details of the audit log: for people only.
#[derive(Debug, Clone, Copy)]
pub struct AuditErase;

impl Access for AuditErase {
    const SCOPE: Option<Scope> = None;
    const ROLE: Option<Role> = Some(Role::SuperAdmin);
    const PERMISSION: Option<Permission> = Some(Permission::AuditRead);
    const BY: Callers = Callers::People;
    const METER: Meter = Meter::Person;
}

/// The keys that devices trust.
#[derive(Debug, Clone, Copy)]
pub struct TrustAnchorsWrite;

impl Access for TrustAnchorsWrite {
    const SCOPE: Option<Scope> = None;
    const ROLE: Option<Role> = Some(Role::SuperAdmin);
    const PERMISSION: Option<Permission> = Some(Permission::FirmwareWrite);
    const BY: Callers = Callers::People;
    const METER: Meter = Meter::Person;
}

/// A device calling for itself.
#[derive(Debug, Clone, Copy)]
pub struct AnyDevice;

impl Access for AnyDevice {
    const SCOPE: Option<Scope> = None;
    const BY: Callers = Callers::Devices;
    const METER: Meter = Meter::Device;
}

/// A device for itself, or a user on its behalf. The handler checks which device, and whether the user may.
#[derive(Debug, Clone, Copy)]
pub struct DeviceOrPerson;

impl Access for DeviceOrPerson {
    const SCOPE: Option<Scope> = None;
    const BY: Callers = Callers::DevicesAndPeople;
    const METER: Meter = Meter::Device;
}

macro_rules! access {
    ($($(#[$doc:meta])* $name:ident: $scope:expr, $meter:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name;
        impl Access for $name {
            const SCOPE: Option<Scope> = $scope;
            const METER: Meter = Meter::$meter;
        }
    )*};
}

access! {
    /// Chat of interface A.
    ChatA: Some(Scope::Chat), PlanA;
    /// Chat of interface B.
    ChatB: Some(Scope::Chat), PlanB;
    /// Chat of the agent platform.
    ChatAgent: Some(Scope::Chat), Chat;
    /// List of models of interface A.
    ModelsA: Some(Scope::Chat), PlanA;
    /// List of models of interface B.
    ModelsB: Some(Scope::Chat), PlanB;
    /// API keys and settings.
    Admin: Some(Scope::Admin), Status;
    /// Metrics for monitoring.
    MetricsRead: Some(Scope::Metrics), Status;
    /// List and description of engines.
    EnginesRead: Some(Scope::Engines), Status;
    /// Running engines.
    EnginesRun: Some(Scope::Engines), Engines;
    /// Semantic memory: the caller's own entries, and those of shared namespaces.
    MemoryUse: Some(Scope::Memory), Memory;
    /// Erasing an owner's memory. The handler checks whose it is.
    MemoryForget: None, Memory;
    /// What every API key may read.
    Status: None, Status;
}

macro_rules! medical {
    ($($(#[$doc:meta])* $name:ident: $endpoint:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name;
        impl Access for $name {
            const SCOPE: Option<Scope> = Some(Scope::Medical);
            const PLAN_ENDPOINT: Option<&'static str> = Some($endpoint);
            const METER: Meter = Meter::Medical;
        }
    )*};
}

medical! {
    /// Medical consultation.
    MedicalChat: "chat";
    /// Lookup of clinical protocols.
    MedicalProtocols: "clinical-protocols";
    /// Assessment of cancer referral criteria.
    MedicalCancer: "cancer-diagnosis";
}

/// Status of the medical interface.
#[derive(Debug, Clone, Copy)]
pub struct MedicalStatus;

impl Access for MedicalStatus {
    const SCOPE: Option<Scope> = Some(Scope::Medical);
    const METER: Meter = Meter::Medical;
}

/// Kept conversations of the medical interface. The handler checks whose they are.
#[derive(Debug, Clone, Copy)]
pub struct MedicalConversations;

impl Access for MedicalConversations {
    const SCOPE: Option<Scope> = Some(Scope::Medical);
    const METER: Meter = Meter::Medical;
}
