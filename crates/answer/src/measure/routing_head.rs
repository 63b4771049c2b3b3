//! A head that routes, with its fingerprint.

use ken_policy::Head;

/// A router or a gate.
pub struct RoutingHead {
    /// The head.
    pub head: Head,
    /// Identifies it.
    pub fingerprint: String,
}

impl From<Head> for RoutingHead {
    fn from(head: Head) -> Self {
        Self {
            fingerprint: head.fingerprint(),
            head,
        }
    }
}
