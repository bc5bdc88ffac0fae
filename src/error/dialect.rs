//! The dialect of a route.

/// The interface that a route belongs to, which determines the format of errors and of credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    Disaster,
    /// Interface A of the AI platform.
    A,
    /// Interface B of the AI platform: OpenAI's.
    B,
    /// Anthropic's Messages API, whose routes are among those of interface B.
    Messages,
    Medical,
    Agent,
}

/// Prefixes of whole path segments; the first match wins. Every other path has the dialect `Agent`.
const PREFIXES: [(&str, Dialect); 22] = [
    ("/api/v1/auth", Dialect::Disaster),
    ("/api/v1/users", Dialect::Disaster),
    ("/api/v1/service-accounts", Dialect::Disaster),
    ("/api/v1/devices", Dialect::Disaster),
    ("/api/v1/device", Dialect::Disaster),
    ("/api/v1/incidents", Dialect::Disaster),
    ("/api/v1/incidents.geojson", Dialect::Disaster),
    ("/api/v1/geofences", Dialect::Disaster),
    ("/api/v1/alerts", Dialect::Disaster),
    ("/api/v1/cap", Dialect::Disaster),
    ("/api/v1/firmware", Dialect::Disaster),
    ("/api/v1/realtime", Dialect::Disaster),
    ("/api/chat", Dialect::A),
    ("/api/models", Dialect::A),
    ("/api/vision", Dialect::A),
    ("/api/generate-image", Dialect::A),
    ("/api/translate", Dialect::A),
    ("/api/images", Dialect::A),
    ("/api/languages", Dialect::A),
    ("/api/medical", Dialect::Medical),
    ("/v1/messages", Dialect::Messages),
    ("/v1", Dialect::B),
];

impl Dialect {
    /// Returns the dialect of a path, whether a route exists or not.
    pub fn of(path: &str) -> Self {
        let under =
            |prefix: &str| path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        PREFIXES.iter().find(|(prefix, _)| under(prefix)).map_or(Self::Agent, |&(_, dialect)| dialect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_segments_decide() {
        for (path, dialect) in [
            ("/api/v1/auth/login", Dialect::Disaster),
            ("/api/v1/devices", Dialect::Disaster),
            ("/api/v1/device/jobs/next", Dialect::Disaster),
            ("/api/v1/devicesque", Dialect::Agent),
            ("/api/chat", Dialect::A),
            ("/api/chatter", Dialect::Agent),
            ("/v1/models/a/b", Dialect::B),
            ("/v1/messages", Dialect::Messages),
            ("/v1/messages/count_tokens", Dialect::Messages),
            ("/v1/messagesx", Dialect::B),
            ("/v12", Dialect::Agent),
            ("/api/medical/chat", Dialect::Medical),
            ("/api/v1/keys", Dialect::Agent),
            ("/", Dialect::Agent),
        ] {
            assert_eq!(Dialect::of(path), dialect, "{path}");
        }
    }
}
