//! Encrypted connections to PostgreSQL. Servers' certificates are checked like those of other services.

use std::path::Path;
use std::sync::Arc;

use ken_http::{BadCertificates, certificates_of};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::address::ServiceAddress;
use crate::error::ServiceError;

/// The TLS settings, which check certificates against the bundle of the environment, or else Mozilla's roots.
///
/// # Errors
/// If the bundle cannot be used.
pub(super) fn connector(address: &ServiceAddress) -> Result<MakeRustlsConnect, ServiceError> {
    let roots = match certificates_of(|name| std::env::var(name).ok()) {
        Some(bundle) => bundled(&bundle)?,
        None => webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect(),
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| ServiceError::Unreachable {
        server: address.server(),
        reason: error.to_string(),
    })?;
    let config = config.with_root_certificates(roots).with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

/// The certificates of a PEM bundle.
fn bundled(path: &Path) -> Result<RootCertStore, BadCertificates> {
    let unusable = |detail: String| BadCertificates {
        path: path.to_owned(),
        detail,
    };
    let certificates =
        CertificateDer::pem_file_iter(path).map_err(|error| unusable(error.to_string()))?;
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates.filter_map(Result::ok));
    match roots.is_empty() {
        true => Err(unusable("it contains no PEM certificate".to_owned())),
        false => Ok(roots),
    }
}
