//! Retries of requests.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use rand::Rng;
use ureq::http::HeaderMap;

/// The longest backoff.
const LONGEST_BACKOFF: Duration = Duration::from_secs(30);
/// The longest wait that a server may request; beyond it there is no retry.
const LONGEST_REQUESTED: Duration = Duration::from_secs(120);
/// How often a waiting thread checks whether to stop.
pub const GLANCE: Duration = Duration::from_millis(20);

/// Whether the caller still waits for a result, and for how long.
pub trait Patience {
    /// Whether the caller no longer waits.
    fn is_over(&self) -> bool;

    /// The time for which the caller still waits; `None` without a limit.
    fn left(&self) -> Option<Duration> {
        None
    }
}

impl Patience for AtomicBool {
    fn is_over(&self) -> bool {
        self.load(Ordering::Relaxed)
    }
}

/// A failed attempt.
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

/// How often a request is retried, and after which waits.
#[derive(Debug, Clone, Copy)]
pub struct Retry {
    /// Retries after the first attempt.
    pub retries: u32,
    /// The longest wait before the first retry, doubled with each, up to 30 s. The actual wait is random
    /// below that, but at least what the server requests.
    pub backoff: Duration,
    /// The longest total of all waits; `None` without a limit.
    pub in_all: Option<Duration>,
}

impl Retry {
    /// The wait before retry `number`, counted from 0. `None` if retries are exhausted or the server
    /// requests too long a wait.
    pub fn wait(&self, number: u32, requested: Option<Duration>) -> Option<Duration> {
        let longest = self
            .backoff
            .saturating_mul(1 << number.min(16))
            .min(LONGEST_BACKOFF);
        let drawn = longest.mul_f64(rand::rng().random::<f64>());
        let requested = requested.unwrap_or_default();
        (number < self.retries && requested <= LONGEST_REQUESTED).then(|| drawn.max(requested))
    }

    /// Retries passing failures while the caller waits for the result; the attempt must check that too.
    /// Fails at once if patience ends before the next retry.
    ///
    /// # Errors
    /// The first lasting failure, or the last passing one.
    pub fn persist<T, E>(
        &self,
        patience: &impl Patience,
        mut attempt: impl FnMut() -> Result<T, Failed<E>>,
    ) -> Result<T, E> {
        let (mut repetition, mut waited) = (0, Duration::ZERO);
        loop {
            let failed = match attempt() {
                Ok(answer) => return Ok(answer),
                Err(failed) => failed,
            };
            match self.wait(repetition, failed.wait) {
                Some(wait)
                    if failed.passing
                        && self.in_all.is_none_or(|most| waited + wait <= most)
                        && patience.left().is_none_or(|left| wait < left) =>
                {
                    pause(wait, patience);
                    waited += wait;
                }
                _ => return Err(failed.error),
            }
            repetition += 1;
        }
    }
}

/// Whether a status is transient.
pub fn is_passing(status: u16) -> bool {
    matches!(status, 408 | 429 | 500 | 502..=599)
}

/// The wait that the server requests: `retry-after-ms`, as OpenAI's API and ken itself give it, or
/// `Retry-After` in seconds or as a date (RFC 9110, section 10.2.3), by the server's clock if it sends its time.
pub fn requested_wait(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| Some(headers.get(name)?.to_str().ok()?.trim());
    let date = |text| httpdate::parse_http_date(text).ok();
    let number = |text: &str| text.parse::<f64>().ok();
    let seconds = |seconds| Duration::try_from_secs_f64(seconds).ok();
    if let Some(ms) = text("retry-after-ms").and_then(number) {
        return seconds(ms / 1000.0);
    }
    let after = text("retry-after")?;
    if let Some(number) = number(after) {
        return seconds(number);
    }
    let now = text("date").and_then(date).unwrap_or_else(SystemTime::now);
    Some(date(after)?.duration_since(now).unwrap_or_default())
}

/// Waits, but no longer than the caller waits for the result.
pub fn pause(duration: Duration, patience: &impl Patience) {
    let end = Instant::now() + duration;
    while !patience.is_over() {
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
            in_all: None,
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

    /// A caller who waits this long.
    struct Until(Instant);

    impl Patience for Until {
        fn is_over(&self) -> bool {
            Instant::now() >= self.0
        }

        fn left(&self) -> Option<Duration> {
            Some(self.0.saturating_duration_since(Instant::now()))
        }
    }

    #[test]
    fn nothing_is_retried_that_would_come_too_late() {
        let retry = Retry {
            retries: 9,
            backoff: Duration::ZERO,
            in_all: Some(Duration::from_millis(100)),
        };
        let attempts = |patience: &Until, wait: u64| {
            let mut attempts = 0;
            let failed = retry.persist(patience, || {
                attempts += 1;
                Err::<(), _>(Failed {
                    wait: Some(Duration::from_millis(wait)),
                    ..Failed::passing(attempts)
                })
            });
            assert_eq!(failed, Err(attempts));
            attempts
        };
        let began = Instant::now();
        let long = Until(began + Duration::from_secs(60));
        assert_eq!(attempts(&long, 0), 10);
        // Twice 40 ms, and no third time.
        assert_eq!(attempts(&long, 40), 3);
        assert_eq!(attempts(&long, 60_000), 1);
        assert!(began.elapsed() < Duration::from_secs(30));
        let short = Until(Instant::now() + Duration::from_millis(20));
        assert_eq!(attempts(&short, 50), 1);
    }

    #[test]
    fn requested_waits_are_read_in_all_their_forms() {
        let wait = |lines: &[(&'static str, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in lines {
                headers.insert(*name, value.parse().unwrap());
            }
            requested_wait(&headers).map(|wait| wait.as_millis())
        };
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        for (lines, expected) in [
            (&[("retry-after", "7")][..], Some(7000)),
            (&[("retry-after", " 1.5 ")], Some(1500)),
            (
                &[("retry-after", "7"), ("retry-after-ms", "250")],
                Some(250),
            ),
            (
                &[date, ("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")],
                Some(30_000),
            ),
            (
                &[("retry-after", "Sunday, 06-Nov-94 08:49:37 GMT")],
                Some(0),
            ),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "soon")], None),
            (&[("retry-after", "1e300")], None),
            (&[date], None),
        ] {
            assert_eq!(wait(lines), expected, "{lines:?}");
        }
        // By the clock of this machine if the server does not tell the time.
        let later = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(100));
        let wait = wait(&[("retry-after", &later)]).unwrap();
        assert!((90_000..=100_000).contains(&wait), "{wait}");
    }
}
