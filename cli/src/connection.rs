//! Connections to servers: which certificates are trusted, and why a server could not be called.

use std::error::Error;
use std::io;

use reqwest::{Certificate, Client, ClientBuilder};
use rustls::CertificateError;

use crate::install_tls;

/// Which certificates of servers are trusted.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct TlsArgs {
    /// PEM file with the authorities that sign the server's certificate [default: those of this machine].
    #[arg(long, value_name = "FILE", global = true, value_parser = Authorities::read)]
    pub(crate) ca: Option<Authorities>,
}

/// Certificate authorities, from a PEM file. Only they are trusted where they are given.
#[derive(Debug, Clone)]
pub(crate) struct Authorities {
    pub(crate) pem: String,
    pub(crate) certificates: Vec<Certificate>,
}

impl Authorities {
    fn read(file: &str) -> Result<Self, String> {
        let pem = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
        Self::parse(pem)
    }

    /// Parses the certificates of a PEM text.
    pub(crate) fn parse(pem: String) -> Result<Self, String> {
        let certificates = Certificate::from_pem_bundle(pem.as_bytes()).map_err(|error| causes(&error))?;
        match certificates.is_empty() {
            true => Err("holds no certificate: it takes a PEM file, with -----BEGIN CERTIFICATE-----".to_owned()),
            false => Ok(Self { pem, certificates }),
        }
    }
}

/// Builds a client that trusts `authorities`, or those of this machine.
pub(crate) fn client(authorities: Option<&Authorities>, builder: impl Fn() -> ClientBuilder) -> Result<Client, String> {
    install_tls();
    let built = match authorities {
        Some(authorities) => builder().tls_certs_only(authorities.certificates.clone()).build(),
        // A machine without a store of certificates still reaches servers without TLS.
        None => builder().build().or_else(|_| builder().tls_certs_only([]).build()),
    };
    built.map_err(|error| causes(&error))
}

/// Describes why a call of a server failed: what to do, where that is known, and every cause.
pub(crate) fn unreachable(server: &str, error: &reqwest::Error) -> String {
    match remedy(server, error) {
        Some(remedy) => format!("{server} does not answer: {remedy} ({})", causes(error)),
        None => format!("{server} does not answer: {}", causes(error)),
    }
}

/// Joins the messages of an error and of its causes. The first message of a call, which repeats the URL, is left out.
pub(crate) fn causes(error: &reqwest::Error) -> String {
    let mut messages: Vec<String> = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        let message = cause.to_string();
        // Some errors repeat their cause in their own message.
        if !messages.iter().any(|earlier| earlier.ends_with(&message)) {
            messages.push(message);
        }
        next = cause.source();
    }
    if messages.is_empty() { error.to_string() } else { messages.join(": ") }
}

fn remedy(server: &str, error: &reqwest::Error) -> Option<String> {
    let mut next: Option<&(dyn Error + 'static)> = error.source();
    while let Some(cause) = next {
        if let Some(remedy) = tls_error(cause).and_then(remedy_of_tls) {
            return Some(remedy);
        }
        let io = cause.downcast_ref::<io::Error>();
        if io.is_some_and(|io| io.kind() == io::ErrorKind::ConnectionRefused) {
            return Some("nothing listens there; is the server running? (muster serve)".to_owned());
        }
        next = cause.source();
    }
    let other_protocol = server.starts_with("http://") && error.is_request() && !error.is_connect();
    (other_protocol && !error.is_timeout()).then(|| "if it serves HTTPS, give its URL with https://".to_owned())
}

/// Returns the error of TLS that an error is, or that an I/O error contains: such a one is no source of its own.
fn tls_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    let contained = || error.downcast_ref::<io::Error>()?.get_ref().and_then(|inner| tls_error(inner));
    error.downcast_ref().or_else(contained)
}

fn remedy_of_tls(error: &rustls::Error) -> Option<String> {
    let certificate = match error {
        rustls::Error::InvalidCertificate(certificate) => certificate,
        rustls::Error::InvalidMessage(_) => {
            return Some("it does not serve HTTPS: give its URL with http://".to_owned());
        }
        _ => return None,
    };
    Some(match certificate {
        // Another authority of the same name fails by the signature.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "its certificate is signed by an unknown authority: pass --ca FILE with the \
                                            certificate of that authority"
                .to_owned()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "its certificate is for another name: use the name that the certificate has".to_owned()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired: renew it, or correct the clock of this machine".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet: correct the clock of this machine".to_owned()
        }
        other if other.to_string().contains("CaUsedAsEndEntity") => {
            "its certificate is that of an authority: the server needs one for servers, made with \
             basicConstraints=CA:FALSE"
                .to_owned()
        }
        _ => "its certificate is not accepted".to_owned(),
    })
}
