//! What routes ask of a caller, as types.

use muster_core::principal::Permission;
use muster_identity::keys::Scope;

/// Which limits a request counts against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Meter {
    /// Interface A's plan.
    PlanA,
    /// Interface B's plan.
    PlanB,
    /// The agent platform's health and status category.
    Status,
    /// The agent platform's chat category.
    Chat,
    /// The agent platform's category of agent runs.
    Agents,
    /// The agent platform's category of control: pause, resume, redirect and kill.
    Control,
    /// The agent platform's category of engines.
    Engines,
    /// The agent platform's category of memory.
    Memory,
    /// What a person of the disaster network may send.
    Person,
    /// What a device may send.
    Device,
}

/// What a route needs: part of its handler's type, so that it cannot be forgotten.
pub trait Access {
    /// What an API key must have.
    const SCOPE: Option<Scope>;
    /// What an API key must have where people are let in by a permission.
    const SCOPE_OF_KEYS: Option<Scope> = None;
    /// What a person must be allowed to do.
    const PERMISSION: Option<Permission> = None;
    /// Who may call at all.
    const BY: Callers = Callers::KeysAndPeople;
    const METER: Meter;
}

/// Which kinds of principals a route is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Callers {
    /// API keys, and people with a token of their session; a person's scopes come from the role.
    KeysAndPeople,
    /// People with a token of their session: the disaster network.
    People,
    /// Devices, with a token signed by their own key.
    Devices,
    /// Either: what a device says of itself, or a person says for it.
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
    /// Every person who is logged in.
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
    /// The keys that sign tokens.
    SigningKeysRotate: Some(Permission::KeysWrite);
}

/// The feed over HTTP: people who may subscribe, and API keys that may watch agents.
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

// A person's role has either the scope, and so tasks of its own, or the permission, and so everybody's.
agents! {
    /// Agents, and tasks as they stand.
    AgentsRead: Permission::AgentsRead, Status;
    /// Runs of agents.
    AgentsRun: Permission::AgentsControl, Agents;
    /// Control of agents' tasks.
    AgentsControl: Permission::AgentsControl, Control;
}

/// A device that calls by itself.
#[derive(Debug, Clone, Copy)]
pub struct AnyDevice;

impl Access for AnyDevice {
    const SCOPE: Option<Scope> = None;
    const BY: Callers = Callers::Devices;
    const METER: Meter = Meter::Device;
}

/// A device that speaks for itself, or a person for it: the handler checks which device, and that the person may.
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
    /// Chat by interface A.
    ChatA: Some(Scope::Chat), PlanA;
    /// Chat by interface B.
    ChatB: Some(Scope::Chat), PlanB;
    /// Chat by the agent platform.
    ChatAgent: Some(Scope::Chat), Chat;
    /// The list of models by interface A.
    ModelsA: Some(Scope::Chat), PlanA;
    /// The list of models by interface B.
    ModelsB: Some(Scope::Chat), PlanB;
    /// Keys and settings.
    Admin: Some(Scope::Admin), Status;
    /// Figures for monitoring.
    MetricsRead: Some(Scope::Metrics), Status;
    /// The list of engines, and what they are.
    EnginesRead: Some(Scope::Engines), Status;
    /// Runs of engines.
    EnginesRun: Some(Scope::Engines), Engines;
    /// What is remembered: the caller's own entries, and those of shared namespaces.
    MemoryUse: Some(Scope::Memory), Memory;
    /// The end of all that an owner has in memory: the handler checks whose it is.
    MemoryForget: None, Memory;
    /// What every key may read.
    Status: None, Status;
}
