//! Retries of requests.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rand::Rng;
use ureq::http::HeaderMap;

/// The longest backoff.
const LONGEST_BACKOFF: Duration = Duration::from_secs(30);
/// The longest wait that a server may request; beyond it there is no retry.
const LONGEST_REQUESTED: Duration = Duration::from_secs(120);
/// How often a waiting thread checks whether to stop.
pub const GLANCE: Duration = Duration::from_millis(20);

/// An attempt that failed.
#[derive(Debug)]
pub struct Failed<E> {
    /// The cause.
    pub error: E,
    /// Whether a retry may succeed.
    pub passing: bool,
    /// The wait that the server requests.
    pub wait: Option<Duration>,
}

impl<E> Failed<E> {
    /// A failure that a retry would repeat.
    pub fn lasting(error: E) -> Self {
        Self {
            error,
            passing: false,
            wait: None,
        }
    }

    /// A failure that a retry may avoid.
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

/// How often and after how long a request is retried.
#[derive(Debug, Clone, Copy)]
pub struct Retry {
    /// Retries after the first attempt.
    pub retries: u32,
    /// The longest wait before the first retry, doubled with each, up to 30 s. The actual wait is random
    /// below that, but at least what the server requests.
    pub backoff: Duration,
}

impl Retry {
    /// The wait before retry `number`, counted from 0. `None` if retries are exhausted or the server
    /// requests too long a wait.
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

    /// Retries passing failures. A wait ends once `stop` is set; the attempt must check it too.
    ///
    /// # Errors
    /// The first lasting failure, or the last passing one.
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

/// Whether a status is transient.
#[must_use]
pub fn is_passing(status: u16) -> bool {
    matches!(status, 408 | 429 | 500 | 502..=599)
}

/// The wait that the server requests (`Retry-After` in seconds).
#[must_use]
pub fn requested_wait(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get("retry-after")?.to_str().ok()?;
    seconds.trim().parse().ok().map(Duration::from_secs)
}

/// Waits, but no longer than until `stop` is set.
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
