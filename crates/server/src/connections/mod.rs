//! Connections: how many there may be, who makes room for a newcomer, and how long one may be stalled by
//! whoever does not read.

pub(crate) mod connection;
pub(crate) mod files;
pub(crate) mod places;
pub(crate) mod write_timeout;

use std::time::Duration;

/// How long a client may take to send the head of a request, or keep a connection without one: longer than the minute
/// for which load balancers keep one by default, so that they never send a request on one that is being closed.
pub(crate) const HEAD_WITHIN: Duration = Duration::from_secs(75);
