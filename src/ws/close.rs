//! Reasons to close a connection: one table for every feed.

/// A reason to close a connection, with its code on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Close {
    /// The client closed the connection.
    Normal,
    /// The client violated RFC 6455: reserved bits, no mask, or a fragmented control frame.
    Violation,
    /// A text message is not UTF-8.
    BadText,
    /// A message exceeds the size limit.
    TooBig,
    /// The server restarts: reconnect with `since`.
    Restart,
    InvalidToken,
    Forbidden,
    /// A binary message, a message that is not a JSON object, or a frame before `connect`.
    ProtocolError,
    ConnectionLimit,
    ConnectTimeout,
    SessionRevoked,
    Overloaded,
    SlowConsumer,
    RateLimited,
    Internal,
    TokenExpired,
    Rebalance,
    NoPong,
    InsufficientState,
}

/// What a client should do after a close.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterClose {
    /// Nothing: it closed the connection itself.
    Nothing,
    /// Not reconnect: it made an error that another attempt would repeat.
    Stop,
    LogIn,
    /// Fetch a new token, then reconnect at once.
    Refresh,
    /// Reconnect later, with jitter, from the last position.
    BackOff,
    /// Reconnect at once, from the last position.
    Reconnect,
}

impl Close {
    pub const ALL: [Self; 19] = [
        Self::Normal,
        Self::Violation,
        Self::BadText,
        Self::TooBig,
        Self::Restart,
        Self::InvalidToken,
        Self::Forbidden,
        Self::ProtocolError,
        Self::ConnectionLimit,
        Self::ConnectTimeout,
        Self::SessionRevoked,
        Self::Overloaded,
        Self::SlowConsumer,
        Self::RateLimited,
        Self::Internal,
        Self::TokenExpired,
        Self::Rebalance,
        Self::NoPong,
        Self::InsufficientState,
    ];

    const fn row(self) -> (u16, &'static str, AfterClose) {
        match self {
            Self::Normal => (1000, "normal", AfterClose::Nothing),
            Self::Violation => (1002, "websocket_protocol_error", AfterClose::Stop),
            Self::BadText => (1007, "invalid_utf8", AfterClose::Stop),
            Self::TooBig => (1009, "too_big", AfterClose::Stop),
            Self::Restart => (1012, "service_restart", AfterClose::BackOff),
            Self::InvalidToken => (4001, "invalid_token", AfterClose::LogIn),
            Self::Forbidden => (4003, "forbidden", AfterClose::Stop),
            Self::ProtocolError => (4004, "protocol_error", AfterClose::Stop),
            Self::ConnectionLimit => (4009, "connection_limit", AfterClose::Stop),
            Self::ConnectTimeout => (4010, "connect_timeout", AfterClose::Stop),
            Self::SessionRevoked => (4011, "session_revoked", AfterClose::LogIn),
            Self::Overloaded => (4100, "overloaded", AfterClose::BackOff),
            Self::SlowConsumer => (4101, "slow_consumer", AfterClose::BackOff),
            Self::RateLimited => (4102, "rate_limited", AfterClose::BackOff),
            Self::Internal => (4103, "internal", AfterClose::BackOff),
            Self::TokenExpired => (4200, "token_expired", AfterClose::Refresh),
            Self::Rebalance => (4201, "rebalance", AfterClose::Reconnect),
            Self::NoPong => (4202, "no_pong", AfterClose::Reconnect),
            Self::InsufficientState => (4203, "insufficient_state", AfterClose::Reconnect),
        }
    }

    /// Returns the code on the wire.
    pub const fn code(self) -> u16 {
        self.row().0
    }

    /// Returns the reason on the wire.
    pub const fn name(self) -> &'static str {
        self.row().1
    }

    pub const fn then(self) -> AfterClose {
        self.row().2
    }
}

impl AfterClose {
    /// Returns an explanation for the description of the feed.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Nothing => "nothing: the client closed the connection",
            Self::Stop => "stop: another try would end the same way",
            Self::LogIn => "log in or refresh first, then connect",
            Self::Refresh => "refresh the token, then connect at once",
            Self::BackOff => "wait with jitter, then connect with `since`",
            Self::Reconnect => "connect at once with `since`",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of the protocol, with the codes of RFC 6455 (section 7.4.1) and of the IANA registry (1012).
    #[test]
    fn the_codes_are_those_of_the_contract() {
        let codes: Vec<_> = Close::ALL.iter().map(|close| (close.code(), close.name())).collect();
        for wanted in [
            (1002, "websocket_protocol_error"),
            (1007, "invalid_utf8"),
            (1009, "too_big"),
            (1012, "service_restart"),
            (4001, "invalid_token"),
            (4003, "forbidden"),
            (4004, "protocol_error"),
            (4009, "connection_limit"),
            (4010, "connect_timeout"),
            (4011, "session_revoked"),
            (4100, "overloaded"),
            (4101, "slow_consumer"),
            (4102, "rate_limited"),
            (4103, "internal"),
            (4200, "token_expired"),
            (4201, "rebalance"),
            (4202, "no_pong"),
            (4203, "insufficient_state"),
        ] {
            assert!(codes.contains(&wanted), "{wanted:?}");
        }
        let mut unique = codes.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), codes.len());
    }
}
