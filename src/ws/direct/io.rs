//! Non-blocking reads and writes of a connection's socket, plain or under TLS.
//!
//! Under TLS the feed runs the session itself (`rustls`), so that the thread's flusher can write to a connection without
//! waking its task, as it does without TLS.

use std::cell::RefCell;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream as StdStream};
use std::os::fd::AsFd;
use std::task::{Context, Poll, ready};

use actix_codec::{AsyncRead, AsyncWrite};
use actix_tls::accept::rustls_0_23::TlsStream;
use actix_web::rt::net::TcpStream;
use rustls::ServerConnection;

/// A connection of the HTTP server that the feed can take over.
pub trait ServerStream: AsyncRead + AsyncWrite + Unpin + 'static {
    /// Returns the TCP connection below.
    fn tcp(&self) -> &TcpStream;

    /// Takes the connection over.
    fn into_io(self) -> SocketIo;
}

impl ServerStream for TcpStream {
    fn tcp(&self) -> &TcpStream {
        self
    }

    fn into_io(self) -> SocketIo {
        SocketIo::Plain(self)
    }
}

impl ServerStream for TlsStream<TcpStream> {
    fn tcp(&self) -> &TcpStream {
        self.get_ref().0
    }

    fn into_io(self) -> SocketIo {
        SocketIo::Tls(Box::new(RefCell::new(self)))
    }
}

/// The socket of a connection. No method blocks.
pub enum SocketIo {
    Plain(TcpStream),
    Tls(Box<RefCell<TlsStream<TcpStream>>>),
}

impl std::fmt::Debug for SocketIo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Plain(_) => "SocketIo::Plain",
            Self::Tls(_) => "SocketIo::Tls",
        })
    }
}

impl SocketIo {
    /// Reads received bytes, 0 at the end of the stream. While there are none, the task is woken when some arrive.
    pub(super) fn poll_read(&self, buffer: &mut [u8], task: &mut Context<'_>) -> Poll<io::Result<usize>> {
        loop {
            match self.try_read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => ready!(self.poll_read_ready(task))?,
                read => return Poll::Ready(read),
            }
        }
    }

    fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(tcp) => tcp.try_read(buffer),
            Self::Tls(tls) => {
                let mut tls = tls.borrow_mut();
                let (tcp, session) = tls.get_mut();
                decrypt(tcp, session, buffer)
            }
        }
    }

    /// Writes as many bytes as the socket accepts; `WouldBlock` if none. Under TLS they may still have to be flushed.
    pub(super) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(tcp) => tcp.try_write(bytes),
            Self::Tls(tls) => {
                let mut tls = tls.borrow_mut();
                let (tcp, session) = tls.get_mut();
                // Records of earlier bytes go first, so at most one write's records wait in the session.
                send_records(tcp, session)?;
                let accepted = session.writer().write(bytes)?;
                match send_records(tcp, session) {
                    Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
                    _ => Ok(accepted),
                }
            }
        }
    }

    /// Sends what was accepted before; `WouldBlock` if some of it is left.
    pub(super) fn try_flush(&self) -> io::Result<()> {
        match self {
            Self::Plain(_) => Ok(()),
            Self::Tls(tls) => {
                let mut tls = tls.borrow_mut();
                let (tcp, session) = tls.get_mut();
                send_records(tcp, session)
            }
        }
    }

    /// Announces the end of the stream where the transport has a message for it (`close_notify`), if the socket accepts
    /// it at once.
    pub(super) fn finish(&self) {
        if let Self::Tls(tls) = self {
            let mut tls = tls.borrow_mut();
            let (tcp, session) = tls.get_mut();
            session.send_close_notify();
            // The connection ends in any case.
            let _ = send_records(tcp, session);
        }
    }

    /// Announces the end of what is sent, while what is received can still be read.
    pub(super) fn half_close(&self) {
        self.finish();
        self.shut_down_tcp(Shutdown::Write);
    }

    /// Shuts the socket down in both directions, so that the other side notices even if another handle to it is open.
    pub(super) fn shut_down(&self) {
        self.shut_down_tcp(Shutdown::Both);
    }

    fn shut_down_tcp(&self, how: Shutdown) {
        let fd = match self {
            Self::Plain(tcp) => tcp.as_fd().try_clone_to_owned(),
            Self::Tls(tls) => tls.borrow().tcp().as_fd().try_clone_to_owned(),
        };
        if let Ok(fd) = fd {
            // Fails only if the connection is already closed.
            let _ = StdStream::from(fd).shutdown(how);
        }
    }

    fn poll_read_ready(&self, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(tcp) => tcp.poll_read_ready(task),
            Self::Tls(tls) => tls.borrow().tcp().poll_read_ready(task),
        }
    }

    pub(super) fn poll_write_ready(&self, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(tcp) => tcp.poll_write_ready(task),
            Self::Tls(tls) => tls.borrow().tcp().poll_write_ready(task),
        }
    }
}

/// Reads decrypted bytes; 0 after the other side's `close_notify`. `WouldBlock` only if the socket has nothing to read.
fn decrypt(tcp: &TcpStream, session: &mut ServerConnection, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match session.reader().read(buffer) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            read => return read,
        }
        session.read_tls(&mut NonBlocking(tcp))?;
        if let Err(error) = session.process_new_packets() {
            // Sends the alert that describes the error, if the socket accepts it at once.
            let _ = send_records(tcp, session);
            return Err(io::Error::new(ErrorKind::InvalidData, error));
        }
    }
}

/// Sends all encrypted records; `WouldBlock` if some are left.
fn send_records(tcp: &TcpStream, session: &mut ServerConnection) -> io::Result<()> {
    while session.wants_write() {
        if session.write_tls(&mut NonBlocking(tcp))? == 0 {
            return Err(ErrorKind::WriteZero.into());
        }
    }
    Ok(())
}

/// A socket with the interface of blocking I/O, which returns `WouldBlock` instead.
struct NonBlocking<'a>(&'a TcpStream);

impl Read for NonBlocking<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(buffer)
    }
}

impl Write for NonBlocking<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    fn write_vectored(&mut self, bytes: &[io::IoSlice<'_>]) -> io::Result<usize> {
        self.0.try_write_vectored(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
