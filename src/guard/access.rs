//! What routes ask of a caller, as types.

use muster_actors::keys::Scope;

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
}

/// What a route needs: part of its handler's type, so that it cannot be forgotten.
pub trait Access {
    const SCOPE: Option<Scope>;
    const METER: Meter;
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
    /// What every key may read.
    Status: None, Status;
}
