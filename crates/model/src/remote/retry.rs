//! When a request is sent again, and after how long.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rand::Rng;

use super::error::RemoteError;

/// Longest wait that is drawn.
const LONGEST_BACKOFF: Duration = Duration::from_secs(30);
/// Longest wait that an endpoint may ask for. Beyond it, the failure is no passing one.
const LONGEST_REQUESTED: Duration = Duration::from_secs(120);
/// How often whoever waits looks whether to stop.
pub(super) const GLANCE: Duration = Duration::from_millis(20);

/// A request that failed.
pub(super) struct Failed {
    /// Why.
    pub(super) error: RemoteError,
    /// Whether it may do better the next time.
    pub(super) passing: bool,
    /// How long the endpoint asks to wait.
    pub(super) wait: Option<Duration>,
}

impl Failed {
    /// A failure that the next attempt would meet as well.
    pub(super) fn lasting(error: RemoteError) -> Self {
        Self {
            error,
            passing: false,
            wait: None,
        }
    }

    /// A failure that the next attempt may not meet.
    pub(super) fn passing(error: RemoteError) -> Self {
        Self {
            error,
            passing: true,
            wait: None,
        }
    }
}

/// The wait before repetition `number`, counted from 0. `None` where the endpoint asks for too long
/// a wait.
pub(super) fn delay(first: Duration, number: u32, requested: Option<Duration>) -> Option<Duration> {
    let longest = first
        .saturating_mul(1 << number.min(16))
        .min(LONGEST_BACKOFF);
    let drawn = longest.mul_f64(rand::rng().random::<f64>());
    let requested = requested.unwrap_or_default();
    (requested <= LONGEST_REQUESTED).then(|| drawn.max(requested))
}

/// Waits, at most until `stop` is set.
pub(super) fn pause(duration: Duration, stop: &AtomicBool) {
    let end = Instant::now() + duration;
    while !stop.load(Ordering::Relaxed) {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left.min(GLANCE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_up_to_a_limit_and_heed_the_endpoint() {
        let first = Duration::from_millis(100);
        for number in [0, 3, 40] {
            let longest = Duration::from_millis(100 << number.min(9)).min(LONGEST_BACKOFF);
            for _ in 0..50 {
                assert!(delay(first, number, None).unwrap() <= longest);
            }
        }
        let asked = Duration::from_secs(7);
        assert_eq!(delay(first, 0, Some(asked)), Some(asked));
        assert_eq!(delay(first, 0, Some(Duration::from_secs(3600))), None);
    }
}
