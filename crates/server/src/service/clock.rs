//! The time of day.

use std::time::{SystemTime, UNIX_EPOCH};

/// The time, in seconds since 1970 (UTC).
pub(crate) fn unix_seconds() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |since| since.as_secs())
}
