//! A head that routes, with what identifies it.

use ken_policy::Head;

/// A router or a gate.
pub struct RoutingHead {
    /// What it applies.
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
