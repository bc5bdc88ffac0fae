//! A handle to the socket of a connection, which can end it while nothing polls its owner.

use std::net::{Shutdown, TcpStream as StdStream};
use std::os::fd::AsFd;
use std::sync::Arc;

use actix_web::dev::Extensions;
use actix_web::rt::net::TcpStream;

/// A duplicate of a connection's file descriptor, so that its number cannot be reused while this exists.
#[derive(Debug, Clone)]
pub struct SocketHandle(Arc<StdStream>);

impl SocketHandle {
    /// Attaches the socket to the data of a newly accepted connection.
    pub fn attach(connection: &TcpStream, data: &mut Extensions) {
        match connection.as_fd().try_clone_to_owned() {
            Ok(fd) => drop(data.insert(Self(Arc::new(StdStream::from(fd))))),
            Err(error) => tracing::warn!(%error, "a socket cannot be duplicated: a stalled reader cannot be cut off"),
        }
    }

    /// Shuts the connection down in both directions, without sending what is left.
    pub fn cut(&self) {
        // Fails only if the connection is already closed.
        let _ = self.0.shutdown(Shutdown::Both);
    }
}
