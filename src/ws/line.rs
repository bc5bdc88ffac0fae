//! A connection's socket, kept so that it can be ended while nobody polls what owns it.

use std::net::{Shutdown, TcpStream as StdStream};
use std::os::fd::AsFd;
use std::sync::Arc;

use actix_tls::accept::rustls_0_23::TlsStream;
use actix_web::dev::Extensions;
use actix_web::rt::net::TcpStream;

/// A duplicate of a connection's file descriptor: its number is never another connection's while this lives.
#[derive(Debug, Clone)]
pub struct Line(Arc<StdStream>);

impl Line {
    /// Remembers the socket among what belongs to a connection that was just accepted, with TLS or without.
    pub fn keep(connection: &dyn std::any::Any, data: &mut Extensions) {
        let plain = connection.downcast_ref::<TcpStream>();
        let tls = || connection.downcast_ref::<TlsStream<TcpStream>>().map(|tls| tls.get_ref().0);
        let Some(stream) = plain.or_else(tls) else { return };
        match stream.as_fd().try_clone_to_owned() {
            Ok(fd) => drop(data.insert(Self(Arc::new(StdStream::from(fd))))),
            Err(error) => tracing::warn!(%error, "a socket cannot be kept: a stalled reader cannot be cut off"),
        }
    }

    /// Ends the connection both ways, whatever is still to be written.
    pub fn cut(&self) {
        // It fails only where the connection is gone.
        let _ = self.0.shutdown(Shutdown::Both);
    }
}
