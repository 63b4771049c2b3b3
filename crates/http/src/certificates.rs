//! The certificates that verify servers.

use std::path::{Path, PathBuf};

use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

/// The configured bundle of certificates cannot be used.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[diagnostic(
    kind = "bad_certificates",
    remedy = "correct REQUESTS_CA_BUNDLE, CURL_CA_BUNDLE or SSL_CERT_FILE"
)]
#[error("the certificate bundle {path} cannot be used: {detail}")]
pub struct BadCertificates {
    /// The bundle.
    pub path: PathBuf,
    /// The reason.
    pub detail: String,
}

/// The bundle named by the usual environment variables, which `variable` reads.
pub fn certificates_of(variable: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"]
        .iter()
        .find_map(|name| variable(name).filter(|value| !value.is_empty()))
        .map(PathBuf::from)
}

/// The TLS settings for a PEM bundle of certificates; without one, Mozilla's roots.
pub(crate) fn tls(bundle: Option<&Path>) -> Result<TlsConfig, BadCertificates> {
    let Some(path) = bundle else {
        return Ok(TlsConfig::default());
    };
    let unusable = |detail: String| BadCertificates {
        path: path.to_owned(),
        detail,
    };
    let pem = std::fs::read(path).map_err(|e| unusable(e.to_string()))?;
    let certificates: Vec<Certificate<'static>> = parse_pem(&pem)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    if certificates.is_empty() {
        return Err(unusable("it contains no PEM certificate".into()));
    }
    let roots = RootCerts::new_with_certs(&certificates);
    Ok(TlsConfig::builder().root_certs(roots).build())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_without_certificates_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bundle.pem");
        std::fs::write(&path, "nothing here").unwrap();
        let error = tls(Some(&path)).unwrap_err();
        assert_eq!(error.kind(), "bad_certificates");
        assert!(error.to_string().contains("bundle.pem"));
    }
}
