//! When a request is sent again, and after how long.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rand::Rng;
use ureq::http::HeaderMap;

/// Longest wait that is drawn.
const LONGEST_BACKOFF: Duration = Duration::from_secs(30);
/// Longest wait that a server may ask for. Beyond it, the failure is no passing one.
const LONGEST_REQUESTED: Duration = Duration::from_secs(120);
/// How often whoever waits looks whether to stop.
pub const GLANCE: Duration = Duration::from_millis(20);

/// An attempt that failed.
#[derive(Debug)]
pub struct Failed<E> {
    /// Why.
    pub error: E,
    /// Whether it may do better the next time.
    pub passing: bool,
    /// How long the server asks to wait.
    pub wait: Option<Duration>,
}

impl<E> Failed<E> {
    /// A failure that the next attempt would meet as well.
    pub fn lasting(error: E) -> Self {
        Self {
            error,
            passing: false,
            wait: None,
        }
    }

    /// A failure that the next attempt may not meet.
    pub fn passing(error: E) -> Self {
        Self {
            passing: true,
            ..Self::lasting(error)
        }
    }
}

impl<E> From<E> for Failed<E> {
    fn from(error: E) -> Self {
        Self::lasting(error)
    }
}

/// How often and after how long a request is sent again.
#[derive(Debug, Clone, Copy)]
pub struct Retry {
    /// Repetitions after the first attempt.
    pub retries: u32,
    /// Longest wait before the first repetition; it doubles with each, up to 30 s. The wait is
    /// drawn at random below that, but is at least what the server asks for.
    pub backoff: Duration,
}

impl Retry {
    /// The wait before repetition `number`, counted from 0. `None` where there is to be none, or the
    /// server asks for too long a wait.
    #[must_use]
    pub fn wait(&self, number: u32, requested: Option<Duration>) -> Option<Duration> {
        let longest = self
            .backoff
            .saturating_mul(1 << number.min(16))
            .min(LONGEST_BACKOFF);
        let drawn = longest.mul_f64(rand::rng().random::<f64>());
        let requested = requested.unwrap_or_default();
        (number < self.retries && requested <= LONGEST_REQUESTED).then(|| drawn.max(requested))
    }

    /// Tries again while failures may pass. A wait ends once `stop` is set; that the attempt after
    /// it heeds `stop` is the caller's.
    ///
    /// # Errors
    /// The failure that does not pass, or the last one.
    pub fn persist<T, E>(
        &self,
        stop: &AtomicBool,
        mut attempt: impl FnMut() -> Result<T, Failed<E>>,
    ) -> Result<T, E> {
        let mut repetition = 0;
        loop {
            let failed = match attempt() {
                Ok(answer) => return Ok(answer),
                Err(failed) => failed,
            };
            match self.wait(repetition, failed.wait) {
                Some(wait) if failed.passing => pause(wait, stop),
                _ => return Err(failed.error),
            }
            repetition += 1;
        }
    }
}

/// Whether a server that answers so may do better the next time.
#[must_use]
pub fn is_passing(status: u16) -> bool {
    matches!(status, 408 | 429 | 500 | 502..=599)
}

/// How long a server asks to wait, in seconds.
#[must_use]
pub fn requested_wait(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get("retry-after")?.to_str().ok()?;
    seconds.trim().parse().ok().map(Duration::from_secs)
}

/// Waits, at most until `stop` is set.
pub fn pause(duration: Duration, stop: &AtomicBool) {
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
    fn waits_grow_up_to_a_limit_and_heed_the_server() {
        let retry = Retry {
            retries: 41,
            backoff: Duration::from_millis(100),
        };
        for number in [0, 3, 40] {
            let longest = Duration::from_millis(100 << number.min(9)).min(LONGEST_BACKOFF);
            for _ in 0..50 {
                assert!(retry.wait(number, None).unwrap() <= longest);
            }
        }
        let asked = Duration::from_secs(7);
        assert_eq!(retry.wait(0, Some(asked)), Some(asked));
        assert_eq!(retry.wait(0, Some(Duration::from_secs(3600))), None);
        assert_eq!(retry.wait(41, None), None);
    }
}
