//! HTTP as all of ken speaks it: the certificates and the proxy of this machine, how long is waited,
//! whom a secret may be sent to, and when a request is sent again. It knows neither models nor
//! endpoints.

mod address;
mod certificates;
mod client;
mod retry;

pub use address::{is_loopback, without_secrets};
pub use certificates::{BadCertificates, certificates_of};
pub use client::{Settings, agent, explained, get};
pub use retry::{Failed, GLANCE, Retry, is_passing, pause, requested_wait};
