//! The time of day.

use std::time::{SystemTime, UNIX_EPOCH};

/// The time, in seconds since 1970 (UTC).
pub(crate) fn unix_seconds() -> u64 {
    seconds_of(SystemTime::now())
}

/// A time, in seconds since 1970 (UTC); 0 for one before.
pub(crate) fn seconds_of(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
