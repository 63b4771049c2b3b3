//! HTTP for all of ken: certificates, proxy, timeouts, secrets and retries. It knows neither models nor
//! endpoints.
//!
//! ```
//! // The part of an address that a message or a log may show.
//! assert_eq!(ken_http::without_secrets("https://user:key@host/v1?token=1"), "host/v1");
//! ```

mod address;
mod certificates;
mod client;
mod line;
mod names;
mod proxy;
mod retry;
mod tls_failure;

pub use address::{has_open_query, is_loopback, without_secrets};
pub use certificates::{BadCertificates, certificates_of};
pub use client::{Settings, agent, explained, get};
pub use line::Line;
pub use proxy::{BadProxy, proxy_of};
pub use retry::{Failed, GLANCE, Patience, Retry, is_passing, pause, requested_wait};
pub use tls_failure::{TlsFailure, UntrustedCertificate, tls_failure, tls_failure_in};
