//! The client of a session.

use std::sync::Arc;

use muster_core::principal::Viewer;
use muster_core::principal::{Permission, Permissions};
use muster_identity::keys::KeyRecord;
use muster_identity::{By, Person};
use muster_tasks::task::{Reach, Requester};

/// A user, an API key with the scope `agents`, or a device.
#[derive(Debug, Clone, PartialEq)]
pub enum Subject {
    Person(Arc<Person>),
    /// `dev_…`
    Device(Arc<str>),
    /// An API key, by its identifier.
    Key(Arc<KeyRecord>, Arc<str>),
}

impl Subject {
    pub fn of_key(key: Arc<KeyRecord>) -> Self {
        let id = key.id.as_str().into();
        Self::Key(key, id)
    }

    /// `usr_…`, `key_…` or `dev_…`
    pub fn id(&self) -> &Arc<str> {
        match self {
            Self::Person(person) => &person.user_id,
            Self::Device(id) | Self::Key(_, id) => id,
        }
    }

    /// Returns the identity under which the hub checks subscriptions. A device has no permissions and is checked by its
    /// identifier. A key has the permissions that follow from its access to tasks.
    pub fn viewer(&self) -> Viewer {
        let permissions = match self {
            Self::Person(person) => person.permissions,
            Self::Device(_) => Permissions::default(),
            Self::Key(key, _) => of_key(key),
        };
        Viewer { id: Arc::clone(self.id()), permissions }
    }

    /// Returns the identity under which commands are executed.
    pub fn by(self) -> By {
        match self {
            Self::Person(person) => By::Person(person),
            Self::Device(id) => By::Device(id),
            Self::Key(key, _) => By::Key(key),
        }
    }

    /// Returns the channel that the server subscribes the client to; a key has none.
    pub fn own_channel(&self) -> Option<Arc<str>> {
        match self {
            Self::Person(person) => Some(format!("user:{}", person.user_id).into()),
            Self::Device(id) => Some(format!("devices:{id}").into()),
            Self::Key(..) => None,
        }
    }

    /// Returns whether the client may use the feed.
    pub fn may_listen(&self) -> bool {
        match self {
            Self::Person(person) => person.permissions.has(Permission::RealtimeSubscribe),
            // Keys need the scope `agents`; devices must be trusted.
            Self::Device(_) | Self::Key(..) => true,
        }
    }

    /// Returns whether the client may watch agents.
    pub fn may_watch_agents(&self) -> bool {
        match self {
            Self::Person(person) => {
                let has = |permission| person.permissions.has(permission);
                self.may_listen() && (has(Permission::AgentsRead) || has(Permission::AgentsControl))
            }
            Self::Device(_) => false,
            Self::Key(..) => true,
        }
    }

    /// Returns whether the client may see who else subscribes to a channel. Subscribers are users and keys, which
    /// devices, and keys limited to their own tasks, may not see.
    pub fn may_see_others(&self) -> bool {
        match self {
            Self::Person(_) => true,
            Self::Device(_) => false,
            Self::Key(key, _) => of_key(key).has(Permission::AgentsRead),
        }
    }

    /// Returns whether a token continues a session: the same login of a user, or the same device with any of its keys.
    pub fn continues(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Person(one), Self::Person(other)) => {
                one.user_id == other.user_id && one.session_id == other.session_id
            }
            (Self::Device(one), Self::Device(other)) | (Self::Key(_, one), Self::Key(_, other)) => one == other,
            (Self::Person(_) | Self::Device(_) | Self::Key(..), _) => false,
        }
    }
}

/// The permissions of a key on the feed.
fn of_key(key: &Arc<KeyRecord>) -> Permissions {
    let requester = Requester::of(By::Key(Arc::clone(key)));
    let reaches = |reach, permission| (reach == Reach::All).then_some(permission);
    let more =
        [reaches(requester.reads, Permission::AgentsRead), reaches(requester.controls, Permission::AgentsControl)];
    let more: Vec<_> = more.into_iter().flatten().chain([Permission::RealtimeSubscribe]).collect();
    Permissions::of(&more)
}
