//! Which channels there are, who may subscribe to them, and what they keep. Pure.

use std::sync::Arc;

use super::histories::Pool;
use super::{Denied, Refused};
use muster_core::principal::Permission;
use muster_core::principal::Viewer;

/// Longest name of a channel, in bytes.
pub const MAX_CHANNEL: usize = 255;

/// What a channel delivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelKind {
    /// Every publication in order, with a history.
    Log,
    /// Only the newest value of each key.
    Latest,
}

/// What becomes of a channel's history when the server ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeping {
    /// It is read back: subscribers resume over a restart.
    Durable,
    /// It begins anew, with another epoch.
    Memory,
}

/// Whether a feature answers for the channel's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Kept,
    None,
}

/// Who may, besides the permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    Everyone,
    /// Only the one whose identifier stands in the channel's name.
    Own,
    /// Besides everyone with the permission the thing itself, whose identifier stands in the channel's name.
    Itself,
    /// Besides everyone with the permission API keys, and people with this other one: of the channel's events they are
    /// told those whose owner they are ([`EventAttributes::owner`](super::Traits)). Of newest values, which have no owner, all.
    Owners(Permission),
}

/// One row of the table of channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelRule {
    /// An exact name, `name:{id}` or `name:{id}:suffix`.
    pub pattern: &'static str,
    pub permission: Permission,
    pub kind: ChannelKind,
    pub keeping: Keeping,
    pub state: State,
    pub audience: Audience,
}

impl ChannelRule {
    /// A durable log with a state, for everyone with the permission.
    pub const fn log(pattern: &'static str, permission: Permission) -> Self {
        Self {
            pattern,
            permission,
            kind: ChannelKind::Log,
            keeping: Keeping::Durable,
            state: State::Kept,
            audience: Audience::Everyone,
        }
    }

    /// Newest values only, nothing of which outlives the server.
    pub const fn latest(pattern: &'static str, permission: Permission) -> Self {
        Self { kind: ChannelKind::Latest, keeping: Keeping::Memory, ..Self::log(pattern, permission) }
    }

    #[must_use]
    pub const fn without_state(mut self) -> Self {
        self.state = State::None;
        self
    }

    #[must_use]
    pub const fn own(mut self) -> Self {
        self.audience = Audience::Own;
        self
    }

    #[must_use]
    pub const fn and_itself(mut self) -> Self {
        self.audience = Audience::Itself;
        self
    }

    /// Besides everyone with the permission API keys, and people with `other`, as far as they are the owners.
    #[must_use]
    pub const fn and_owners(mut self, other: Permission) -> Self {
        self.audience = Audience::Owners(other);
        self
    }

    #[must_use]
    pub const fn in_memory(mut self) -> Self {
        self.keeping = Keeping::Memory;
        self
    }

    /// Whether the name is one of a family, so that there may be no such thing.
    pub(super) fn of_a_thing(&self) -> bool {
        self.pattern.contains(ID)
    }

    pub(super) fn durable(&self) -> bool {
        self.keeping == Keeping::Durable && self.kind == ChannelKind::Log
    }

    /// In which company the channel's history passes.
    pub(super) fn pool(&self) -> Pool {
        match (self.durable(), self.of_a_thing()) {
            (true, _) => Pool::Durable,
            (false, false) => Pool::Memory,
            (false, true) => Pool::Passing,
        }
    }

    /// Whose events the viewer is told, where not everybody's.
    pub fn only(&self, viewer: &Viewer) -> Option<Arc<str>> {
        let limited = matches!(self.audience, Audience::Owners(_)) && self.kind == ChannelKind::Log;
        (limited && !viewer.permissions.has(self.permission)).then(|| Arc::clone(&viewer.id))
    }

    /// The identifier in the name, empty for an exact one; `None` where the name is not of this pattern.
    fn matches<'a>(&self, channel: &'a str) -> Option<&'a str> {
        match self.pattern.split_once(ID) {
            None => (self.pattern == channel).then_some(""),
            Some((before, after)) => {
                let id = channel.strip_prefix(before)?.strip_suffix(after)?;
                (!id.is_empty() && !id.contains(':')).then_some(id)
            }
        }
    }

    /// # Errors
    /// `NotFound` for what is another's, whether or not it is there; `Forbidden` without the permission.
    fn admit(&self, id: &str, viewer: &Viewer) -> Result<(), Refused> {
        let as_owner = match self.audience {
            Audience::Itself => *viewer.id == *id,
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
            Audience::Own | Audience::Everyone | Audience::Itself | Audience::Owners(_) => Ok(()),
        }
    }
}

const ID: &str = "{id}";

/// The channels of the disaster network (contract 5).
///
/// `incidents.restricted` tells what is redacted from `incidents`. It is for those who command an incident: it needs
/// `incidents:close`, which of the roles only incident commanders and super admins have.
pub const DISASTER: &[ChannelRule] = &[
    ChannelRule::log("incidents", Permission::IncidentsRead),
    ChannelRule::log("incidents:{id}", Permission::IncidentsRead),
    ChannelRule::log("incidents.restricted", Permission::IncidentsClose),
    ChannelRule::log("alerts", Permission::AlertsRead),
    ChannelRule::log("devices", Permission::DevicesRead),
    ChannelRule::log("devices:{id}", Permission::DevicesRead).and_itself(),
    ChannelRule::latest("devices:{id}:telemetry", Permission::DevicesRead),
    ChannelRule::log("firmware", Permission::FirmwareRead),
    ChannelRule::log("firmware:{id}", Permission::FirmwareRead),
    ChannelRule::log("user:{id}", Permission::RealtimeSubscribe).without_state().own(),
    ChannelRule::log("system", Permission::RealtimeSubscribe).without_state(),
];

/// The channels of agents and their tasks (contract 4). They keep nothing over a restart: a task's own journal does.
///
/// `agents:{id}` tells of the tasks of one kind of agent. Another's task is not there: its feature says so.
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
    pub fn new(rules: Vec<ChannelRule>) -> Self {
        Self(rules)
    }

    /// The rule of a channel, without asking who wants it.
    pub fn find(&self, channel: &str) -> Option<&ChannelRule> {
        self.found(channel).map(|(rule, _)| rule)
    }

    /// The rule of a channel that the viewer may ask for. Whether the thing that it is about is there, and whether this
    /// viewer may know of it, its feature says.
    ///
    /// # Errors
    /// `NoChannel` for a name that no rule knows, `Forbidden`, `NotFound`. To a viewer without `realtime:subscribe`, such
    /// as a device, everything but its own channel looks the same, whether it is there or not.
    pub fn admit(&self, channel: &str, viewer: &Viewer) -> Result<&ChannelRule, Refused> {
        let found = self.found(channel).ok_or(Refused::NoChannel);
        let admitted = found.and_then(|(rule, id)| rule.admit(id, viewer).map(|()| rule));
        let feed = Permission::RealtimeSubscribe;
        let at_large = viewer.permissions.has(feed);
        admitted.map_err(|refused| if at_large { refused } else { Refused::Forbidden(feed.name()) })
    }

    fn found<'a>(&self, channel: &'a str) -> Option<(&ChannelRule, &'a str)> {
        let named = (1..=MAX_CHANNEL).contains(&channel.len()) && channel.bytes().all(is_of_a_name);
        self.0.iter().filter(|_| named).find_map(|rule| rule.matches(channel).map(|id| (rule, id)))
    }
}

/// No wildcard, space or control character is part of a name.
fn is_of_a_name(byte: u8) -> bool {
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
    fn a_name_leads_to_its_rule() {
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
    fn no_wildcard_and_no_overlong_name_is_a_channel() {
        let long = format!("incidents:{}", "x".repeat(MAX_CHANNEL));
        let names =
            ["", "incident", "incidents:", "incidents:*", "incidents:>", "incidents:a:b", "devices:#", "devices:?"];
        for channel in names.into_iter().chain([" incidents", "devices::telemetry", "incidents:ä", long.as_str()]) {
            assert_eq!(admit(channel), Err(Refused::NoChannel), "{channel}");
        }
        assert_eq!(admit(&long[..MAX_CHANNEL]), Ok("incidents:{id}"));
    }

    #[test]
    fn another_ones_channel_is_not_there() {
        assert_eq!(admit("user:usr_2"), Err(Refused::Denied(Denied::NotFound)));
    }

    #[test]
    fn a_device_sees_its_own_channel_and_everything_else_looks_the_same_to_it() {
        let rules = Rules::new(DISASTER.to_vec());
        let device = Viewer { id: "dev_1".into(), permissions: Permissions::default() };
        assert_eq!(rules.admit("devices:dev_1", &device).map(|rule| rule.pattern), Ok("devices:{id}"));
        for other in ["devices:dev_2", "devices", "devices:dev_1:telemetry", "user:dev_1", "incidents:dev_1", "nothing"]
        {
            assert_eq!(rules.admit(other, &device), Err(Refused::Forbidden("realtime:subscribe")), "{other}");
        }
    }

    #[test]
    fn a_key_and_one_who_controls_are_told_what_is_their_own_and_readers_everything() {
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
        assert_eq!((metrics.kind, metrics.only(&key)), (ChannelKind::Latest, None), "figures have no owner");
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
