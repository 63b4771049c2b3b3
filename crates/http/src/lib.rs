//! HTTP for all of ken: certificates, proxy, timeouts, secrets and retries. It knows neither models nor
//! endpoints.

mod address;
mod certificates;
mod client;
mod line;
mod retry;

pub use address::{is_loopback, without_secrets};
pub use certificates::{BadCertificates, certificates_of};
pub use client::{Settings, agent, explained, get};
pub use line::Line;
pub use retry::{Failed, GLANCE, Patience, Retry, is_passing, pause, requested_wait};
