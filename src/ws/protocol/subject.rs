//! Who is at the other end of a session.

use std::sync::Arc;

use muster_actors::feed::Viewer;
use muster_actors::identity::{By, Permission, Permissions, Person};

/// A person, or a device that speaks for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    Person(Arc<Person>),
    /// `dev_…`
    Device(Arc<str>),
}

impl Subject {
    /// `usr_…` or `dev_…`
    pub fn id(&self) -> &Arc<str> {
        match self {
            Self::Person(person) => &person.user_id,
            Self::Device(id) => id,
        }
    }

    /// As whom the hub is asked. A device has no permission of a person's: it is known by its name.
    pub fn viewer(&self) -> Viewer {
        let permissions = match self {
            Self::Person(person) => person.permissions,
            Self::Device(_) => Permissions::default(),
        };
        Viewer { id: Arc::clone(self.id()), permissions }
    }

    /// As whom commands are given.
    pub fn by(self) -> By {
        match self {
            Self::Person(person) => By::Person(person),
            Self::Device(id) => By::Device(id),
        }
    }

    /// The channel that the server subscribes it to.
    pub fn own_channel(&self) -> Arc<str> {
        match self {
            Self::Person(person) => format!("user:{}", person.user_id).into(),
            Self::Device(id) => format!("devices:{id}").into(),
        }
    }

    /// Whether it may use the feed at all.
    pub fn may_listen(&self) -> bool {
        match self {
            Self::Person(person) => person.permissions.has(Permission::RealtimeSubscribe),
            Self::Device(_) => true,
        }
    }

    /// Whether it may know who else subscribes to a channel: those are people, whom no device is told of.
    pub fn may_see_others(&self) -> bool {
        matches!(self, Self::Person(_))
    }

    /// Whether a token of the one continues a session of the other: the same login of a person, the same device with
    /// whichever of its keys.
    pub fn continues(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Person(one), Self::Person(other)) => {
                one.user_id == other.user_id && one.session_id == other.session_id
            }
            (Self::Device(one), Self::Device(other)) => one == other,
            (Self::Person(_) | Self::Device(_), _) => false,
        }
    }
}
