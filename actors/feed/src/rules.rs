//! The table of channels: who may subscribe, and what is kept. Pure.

use std::sync::Arc;

use super::histories::Pool;
use super::{Denied, Refused};
use muster_core::principal::Permission;
use muster_core::principal::Viewer;

/// Maximum length of a channel name, in bytes.
const MAX_CHANNEL: usize = 255;

/// Kind of the events that a channel delivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelKind {
    /// Every publication in order, with a history.
    Log,
    /// Only the latest value of each key.
    Latest,
}

/// Whether a channel's history survives a restart of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retention {
    /// It is restored: subscribers resume across a restart.
    Durable,
    /// It is not: a new epoch begins.
    Memory,
}

/// Origin of the state that a subscriber receives if it cannot resume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelState {
    /// A feature provides it.
    Provided,
    /// The channel has no state.
    None,
}

/// Principals that may subscribe, in addition to those with the permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// Everyone with the permission.
    Everyone,
    /// Only the principal whose identifier is in the channel's name.
    Own,
    /// Also the resource itself (such as a device) whose identifier is in the channel's name.
    Resource,
    /// Also API keys and users with the other permission, restricted to events that they own
    /// ([`EventAttributes::owner`](muster_core::event::EventAttributes::owner)). Latest values have no owner, so they
    /// receive all of them.
    Owners(Permission),
}

/// A row of the table of channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelRule {
    /// An exact name, `name:{id}` or `name:{id}:suffix`.
    pub pattern: &'static str,
    /// Permission required to subscribe.
    pub permission: Permission,
    /// Kind of the events that it delivers.
    pub kind: ChannelKind,
    /// Whether the history survives a restart.
    pub retention: Retention,
    /// Whether a feature provides the channel's state.
    pub state: ChannelState,
    /// Principals that may subscribe in addition to those with the permission.
    pub audience: Audience,
}

impl ChannelRule {
    /// Creates the rule of a durable log with a state, for everyone with the permission.
    const fn log(pattern: &'static str, permission: Permission) -> Self {
        Self {
            pattern,
            permission,
            kind: ChannelKind::Log,
            retention: Retention::Durable,
            state: ChannelState::Provided,
            audience: Audience::Everyone,
        }
    }

    /// Creates the rule of a channel of latest values, which are not kept across restarts.
    const fn latest(pattern: &'static str, permission: Permission) -> Self {
        Self { kind: ChannelKind::Latest, retention: Retention::Memory, ..Self::log(pattern, permission) }
    }

    /// Declares that no feature provides the state.
    #[must_use]
    const fn without_state(mut self) -> Self {
        self.state = ChannelState::None;
        self
    }

    /// Restricts the channel to the principal in its name.
    #[must_use]
    const fn own(mut self) -> Self {
        self.audience = Audience::Own;
        self
    }

    /// Also admits the resource in the channel's name.
    #[must_use]
    const fn and_resource(mut self) -> Self {
        self.audience = Audience::Resource;
        self
    }

    /// Also admits API keys and users with the permission `other`, restricted to events that they own.
    #[must_use]
    const fn and_owners(mut self, other: Permission) -> Self {
        self.audience = Audience::Owners(other);
        self
    }

    /// Declares that the history does not survive a restart.
    #[must_use]
    const fn in_memory(mut self) -> Self {
        self.retention = Retention::Memory;
        self
    }

    /// Returns whether the channel belongs to a single resource, which may not exist.
    pub(super) fn is_per_resource(&self) -> bool {
        self.pattern.contains(ID)
    }

    pub(super) fn durable(&self) -> bool {
        self.retention == Retention::Durable && self.kind == ChannelKind::Log
    }

    /// Returns the pool of the channel's history.
    pub(super) fn pool(&self) -> Pool {
        match (self.durable(), self.is_per_resource()) {
            (true, _) => Pool::Durable,
            (false, false) => Pool::Memory,
            (false, true) => Pool::Transient,
        }
    }

    /// Returns the owner to whose events the viewer is restricted, if any.
    pub fn only(&self, viewer: &Viewer) -> Option<Arc<str>> {
        let limited = matches!(self.audience, Audience::Owners(_)) && self.kind == ChannelKind::Log;
        (limited && !viewer.permissions.has(self.permission)).then(|| Arc::clone(&viewer.id))
    }

    /// Returns the identifier in the name, empty for an exact name; `None` if the name does not match the pattern.
    fn matches<'a>(&self, channel: &'a str) -> Option<&'a str> {
        match self.pattern.split_once(ID) {
            None => (self.pattern == channel).then_some(""),
            Some((before, after)) => {
                let id = channel.strip_prefix(before)?.strip_suffix(after)?;
                (!id.is_empty() && !id.contains(':')).then_some(id)
            }
        }
    }

    /// Checks whether a viewer may subscribe.
    ///
    /// # Errors
    ///
    /// - `NotFound` for another principal's channel, whether it exists or not.
    /// - `Forbidden` without the permission.
    fn admit(&self, id: &str, viewer: &Viewer) -> Result<(), Refused> {
        let as_owner = match self.audience {
            Audience::Resource => *viewer.id == *id,
            Audience::Owners(other) => viewer.is_key() || viewer.permissions.has(other),
            Audience::Everyone | Audience::Own => false,
        };
        if as_owner {
            return Ok(());
        }
        if !viewer.permissions.has(self.permission) {
            return Err(Refused::Forbidden(self.permission.name()));
        }
        match self.audience {
            Audience::Own if *viewer.id != *id => Err(Refused::Denied(Denied::NotFound)),
            Audience::Own | Audience::Everyone | Audience::Resource | Audience::Owners(_) => Ok(()),
        }
    }
}

const ID: &str = "{id}";

/// Channels of the disaster network (contract 5).
///
/// `incidents.restricted` publishes what is redacted from `incidents`, for those who command an incident. It requires
/// `incidents:close`, which only incident commanders and super admins have.
pub const DISASTER: &[ChannelRule] = &[
    ChannelRule::log("incidents", Permission::IncidentsRead),
    ChannelRule::log("incidents:{id}", Permission::IncidentsRead),
    ChannelRule::log("incidents.restricted", Permission::IncidentsClose),
    ChannelRule::log("alerts", Permission::AlertsRead),
    ChannelRule::log("devices", Permission::DevicesRead),
    ChannelRule::log("devices:{id}", Permission::DevicesRead).and_resource(),
    ChannelRule::latest("devices:{id}:telemetry", Permission::DevicesRead),
    ChannelRule::log("firmware", Permission::FirmwareRead),
    ChannelRule::log("firmware:{id}", Permission::FirmwareRead),
    ChannelRule::log("user:{id}", Permission::RealtimeSubscribe).without_state().own(),
    ChannelRule::log("system", Permission::RealtimeSubscribe).without_state(),
    ChannelRule::log("governance", Permission::AuditRead).without_state(),
];

/// Channels of agents and their tasks (contract 4). They have no durable history, because a task's own journal is
/// durable.
///
/// `agents:{id}` publishes the tasks of one kind of agent. Tasks of other owners appear as missing, which their feature
/// decides.
pub const AGENTS: &[ChannelRule] = &[
    of_owners(ChannelRule::log("agents", Permission::AgentsRead)),
    of_owners(ChannelRule::latest("agents:metrics", Permission::AgentsRead)).without_state(),
    of_owners(ChannelRule::log("agents:{id}", Permission::AgentsRead)),
    of_owners(ChannelRule::log("tasks:{id}", Permission::AgentsRead)),
    of_owners(ChannelRule::log("tasks:{id}:logs", Permission::AgentsRead)),
];

const fn of_owners(rule: ChannelRule) -> ChannelRule {
    rule.in_memory().and_owners(Permission::AgentsControl)
}

/// The table of channels.
#[derive(Debug, Clone)]
pub struct Rules(Vec<ChannelRule>);

impl Rules {
    /// Creates the table.
    pub(crate) fn new(rules: Vec<ChannelRule>) -> Self {
        Self(rules)
    }

    /// Returns the rule of a channel, independent of a viewer.
    pub fn find(&self, channel: &str) -> Option<&ChannelRule> {
        self.found(channel).map(|(rule, _)| rule)
    }

    /// Returns the rule of a channel to which the viewer may subscribe. Whether the channel's resource exists and is
    /// visible to the viewer is decided by its feature.
    ///
    /// # Errors
    ///
    /// `NoChannel` for a name without a rule, `Forbidden`, `NotFound`. For a viewer without `realtime:subscribe`, such
    /// as a device, all channels but its own yield the same error, whether they exist or not.
    pub fn admit(&self, channel: &str, viewer: &Viewer) -> Result<&ChannelRule, Refused> {
        let found = self.found(channel).ok_or(Refused::NoChannel);
        let admitted = found.and_then(|(rule, id)| rule.admit(id, viewer).map(|()| rule));
        let feed = Permission::RealtimeSubscribe;
        let at_large = viewer.permissions.has(feed);
        admitted.map_err(|refused| if at_large { refused } else { Refused::Forbidden(feed.name()) })
    }

    fn found<'a>(&self, channel: &'a str) -> Option<(&ChannelRule, &'a str)> {
        let named = (1..=MAX_CHANNEL).contains(&channel.len()) && channel.bytes().all(is_name_byte);
        self.0.iter().filter(|_| named).find_map(|rule| rule.matches(channel).map(|id| (rule, id)))
    }
}

/// Wildcards, white space and control characters are not allowed in names.
fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':')
}

#[cfg(test)]
mod tests {
    use super::*;
    use muster_core::principal::{Permissions, UserRole};

    fn viewer(permissions: Permissions) -> Viewer {
        Viewer { id: "usr_1".into(), permissions }
    }

    fn admit(channel: &str) -> Result<&'static str, Refused> {
        Rules::new(DISASTER.to_vec()).admit(channel, &viewer(Permissions::all())).map(|rule| rule.pattern)
    }

    #[test]
    fn a_name_matches_its_rule() {
        for (channel, pattern) in [
            ("incidents", "incidents"),
            ("incidents:inc_1", "incidents:{id}"),
            ("incidents.restricted", "incidents.restricted"),
            ("devices:dev_1", "devices:{id}"),
            ("devices:dev_1:telemetry", "devices:{id}:telemetry"),
            ("user:usr_1", "user:{id}"),
        ] {
            assert_eq!(admit(channel), Ok(pattern));
        }
    }

    #[test]
    fn wildcards_and_overlong_names_are_not_channels() {
        let long = format!("incidents:{}", "x".repeat(MAX_CHANNEL));
        let names =
            ["", "incident", "incidents:", "incidents:*", "incidents:>", "incidents:a:b", "devices:#", "devices:?"];
        for channel in names.into_iter().chain([" incidents", "devices::telemetry", "incidents:ä", long.as_str()]) {
            assert_eq!(admit(channel), Err(Refused::NoChannel), "{channel}");
        }
        assert_eq!(admit(&long[..MAX_CHANNEL]), Ok("incidents:{id}"));
    }

    #[test]
    fn another_users_channel_is_not_found() {
        assert_eq!(admit("user:usr_2"), Err(Refused::Denied(Denied::NotFound)));
    }

    #[test]
    fn a_device_sees_its_own_channel_and_cannot_distinguish_others() {
        let rules = Rules::new(DISASTER.to_vec());
        let device = Viewer { id: "dev_1".into(), permissions: Permissions::default() };
        assert_eq!(rules.admit("devices:dev_1", &device).map(|rule| rule.pattern), Ok("devices:{id}"));
        for other in ["devices:dev_2", "devices", "devices:dev_1:telemetry", "user:dev_1", "incidents:dev_1", "nothing"]
        {
            assert_eq!(rules.admit(other, &device), Err(Refused::Forbidden("realtime:subscribe")), "{other}");
        }
    }

    #[test]
    fn keys_and_controllers_receive_their_own_events_and_readers_all() {
        let rules = Rules::new(DISASTER.iter().chain(AGENTS).copied().collect());
        let subscriber = [Permission::RealtimeSubscribe];
        let of = |id: &str, more: &[Permission]| Viewer {
            id: id.into(),
            permissions: Permissions::of(&[&subscriber, more].concat()),
        };
        let key = of("key_1", &[]);
        for channel in ["agents", "agents:code-reviewer", "tasks:task_1", "tasks:task_1:logs"] {
            let only = |viewer: &Viewer| rules.admit(channel, viewer).map(|rule| rule.only(viewer));
            assert_eq!(only(&key), Ok(Some("key_1".into())), "{channel}");
            assert_eq!(only(&of("usr_1", &[Permission::AgentsControl])), Ok(Some("usr_1".into())), "{channel}");
            assert_eq!(only(&of("usr_1", &[Permission::AgentsRead])), Ok(None), "{channel}");
            assert_eq!(only(&of("key_1", &[Permission::AgentsRead])), Ok(None), "{channel}");
            assert_eq!(only(&of("usr_1", &[])), Err(Refused::Forbidden("agents:read")), "{channel}");
        }
        let metrics = rules.admit("agents:metrics", &key).unwrap();
        assert_eq!((metrics.kind, metrics.only(&key)), (ChannelKind::Latest, None), "metrics have no owner");
        assert_eq!(rules.admit("incidents", &key), Err(Refused::Forbidden("incidents:read")));
        assert!(rules.admit("system", &key).is_ok());
    }

    #[test]
    fn a_channel_needs_its_permission() {
        let rules = Rules::new(DISASTER.to_vec());
        let viewer = viewer(UserRole::Viewer.permissions());
        assert!(rules.admit("incidents", &viewer).is_ok());
        assert_eq!(rules.admit("incidents.restricted", &viewer), Err(Refused::Forbidden("incidents:close")));
        assert_eq!(rules.admit("firmware:job_1", &viewer), Err(Refused::Forbidden("firmware:read")));
    }
}
