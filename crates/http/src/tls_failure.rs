//! Why a connection could not be encrypted, which ureq mostly reports as a failure of reading or writing.

use std::io;

use rustls::CertificateError;
use ureq::Error;

/// The certificate of a server is not trusted.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[diagnostic(
    kind = "untrusted_certificate",
    remedy = "where the server, or a proxy in between, is yours, name a file with its certificate, or with that of its authority, by REQUESTS_CA_BUNDLE or SSL_CERT_FILE"
)]
#[error("the certificate of {server} is not trusted: {reason}")]
pub struct UntrustedCertificate {
    /// The host, maybe with its port.
    pub server: String,
    /// The reason.
    pub reason: String,
}

/// Why a connection could not be encrypted. A retry would meet the same.
#[derive(Debug, PartialEq, Eq)]
pub enum TlsFailure {
    /// The server's certificate is not trusted, for this reason.
    Certificate(String),
    /// The server does not speak TLS, or not as ken does.
    Handshake(String),
}

/// The failure of encryption in an error; `None` if something else failed.
pub fn tls_failure(error: &Error) -> Option<TlsFailure> {
    match error {
        Error::Rustls(failure) => Some(TlsFailure::of(failure)),
        Error::Io(source) => tls_failure_in(source),
        _ => None,
    }
}

/// The failure of encryption in an error of reading or writing, as all clients over rustls report it.
pub fn tls_failure_in(error: &io::Error) -> Option<TlsFailure> {
    let failure = error.get_ref()?.downcast_ref::<rustls::Error>()?;
    Some(TlsFailure::of(failure))
}

impl TlsFailure {
    fn of(failure: &rustls::Error) -> Self {
        match failure {
            rustls::Error::InvalidCertificate(reason) => Self::Certificate(explained(reason)),
            rustls::Error::InvalidMessage(_) => Self::Handshake("it does not speak TLS".to_owned()),
            other => Self::Handshake(other.to_string()),
        }
    }
}

fn explained(reason: &CertificateError) -> String {
    let text = reason.to_string();
    match reason {
        CertificateError::UnknownIssuer => "no authority that is known here signed it".to_owned(),
        // The type of this error is the verifier's own.
        _ if text.contains("CaUsedAsEndEntity") => {
            "it is an authority's certificate; one that a server signs itself needs CA:FALSE"
                .to_owned()
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::*;

    fn reported(failure: rustls::Error) -> Option<TlsFailure> {
        tls_failure(&Error::Io(io::Error::new(ErrorKind::InvalidData, failure)))
    }

    #[test]
    fn certificates_and_handshakes_are_told_apart() {
        let unknown = rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer);
        let reason = "no authority that is known here signed it".to_owned();
        assert_eq!(reported(unknown), Some(TlsFailure::Certificate(reason)));
        let expired = rustls::Error::InvalidCertificate(CertificateError::Expired);
        assert!(matches!(
            reported(expired),
            Some(TlsFailure::Certificate(_))
        ));
        let plain = rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType);
        let reason = "it does not speak TLS".to_owned();
        assert_eq!(reported(plain), Some(TlsFailure::Handshake(reason)));
        let reset = io::Error::from(ErrorKind::ConnectionReset);
        assert_eq!(tls_failure(&Error::Io(reset)), None);
        assert_eq!(tls_failure(&Error::HostNotFound), None);
    }
}
