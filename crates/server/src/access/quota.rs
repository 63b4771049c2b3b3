//! Quotas of keys: requests a minute and tokens a day. They are counted in memory, from when the server
//! started.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::StatusCode;

use super::keys::KeyRecord;
use crate::wire::refusal::Refusal;

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// What each key has used, by its id.
#[derive(Default)]
pub(crate) struct Quotas(Mutex<HashMap<String, Used>>);

struct Used {
    requests: Window,
    tokens: Window,
}

/// What was used since its start; it ends after a time, and the next begins with nothing.
struct Window {
    since: Instant,
    used: u64,
}

impl Window {
    /// What is used in the window at a time, and when the window ends.
    fn at(&mut self, now: Instant, length: Duration) -> (&mut u64, Duration) {
        if now.saturating_duration_since(self.since) >= length {
            *self = Self {
                since: now,
                used: 0,
            };
        }
        let ends = length.saturating_sub(now.saturating_duration_since(self.since));
        (&mut self.used, ends)
    }
}

impl Quotas {
    fn with<T>(&self, key: &str, now: Instant, work: impl FnOnce(&mut Used) -> T) -> T {
        let window = || Window {
            since: now,
            used: 0,
        };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let used = all.entry(key.to_owned()).or_insert_with(|| Used {
            requests: window(),
            tokens: window(),
        });
        work(used)
    }

    /// Counts a request.
    ///
    /// # Errors
    /// A key that has used what it may.
    pub(crate) fn request(&self, key: &KeyRecord, now: Instant) -> Result<(), Refusal> {
        self.with(&key.id, now, |used| {
            let (tokens, ends) = used.tokens.at(now, DAY);
            if key.grant.tokens_per_day.is_some_and(|most| *tokens >= most) {
                let message = "the key has used its tokens of the day";
                return Err(refusal("token_quota", message, ends));
            }
            let (requests, ends) = used.requests.at(now, MINUTE);
            let most = key.grant.requests_per_minute.map(u64::from);
            if most.is_some_and(|most| *requests >= most) {
                let message = "the key has used its requests of the minute";
                return Err(refusal("request_quota", message, ends));
            }
            *requests += 1;
            Ok(())
        })
    }

    /// Counts tokens.
    pub(crate) fn tokens(&self, key: &str, tokens: usize, now: Instant) {
        self.with(key, now, |used| {
            let (used, _) = used.tokens.at(now, DAY);
            *used = used.saturating_add(tokens as u64);
        });
    }
}

fn refusal(code: &'static str, message: &str, ends: Duration) -> Refusal {
    Refusal::new(StatusCode::TOO_MANY_REQUESTS, code, message).retried_after(ends)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::keys::{Grant, Keys};

    fn key(requests: Option<u32>, tokens: Option<u64>) -> KeyRecord {
        let mut keys = Keys::default();
        let grant = Grant {
            name: String::new(),
            scopes: Vec::new(),
            corpora: None,
            expires: None,
            requests_per_minute: requests,
            tokens_per_day: tokens,
        };
        keys.make(grant, 0);
        keys.keys.remove(0)
    }

    #[test]
    fn requests_are_counted_by_the_minute_and_tokens_by_the_day() {
        let (quotas, start) = (Quotas::default(), Instant::now());
        let (few, other) = (key(Some(2), Some(10)), key(None, None));
        let code = |key: &KeyRecord, after: u64| {
            let now = start + Duration::from_secs(after);
            quotas.request(key, now).err().map(|refusal| refusal.code())
        };
        assert_eq!([code(&few, 0), code(&few, 30)], [None, None]);
        assert_eq!(code(&few, 59), Some("request_quota"));
        assert_eq!((0..9).find_map(|_| code(&other, 59)), None);
        assert_eq!(code(&few, 60), None);
        quotas.tokens(&few.id, 9, start);
        assert_eq!(code(&few, 61), None);
        quotas.tokens(&few.id, 9, start);
        assert_eq!(code(&few, 130), Some("token_quota"));
        assert_eq!(code(&few, 24 * 60 * 60), None);
    }
}
