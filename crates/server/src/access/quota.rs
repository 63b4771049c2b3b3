//! Quotas of keys: requests a minute and tokens a day, counted in memory from the start of the server.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use axum::http::StatusCode;

use super::keys::KeyRecord;
use crate::lock::lock;
use crate::wire::refusal::Refusal;

const MINUTE: Duration = Duration::from_secs(60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// What each key has used, by its id.
#[derive(Default)]
pub(crate) struct Quotas(Mutex<HashMap<String, Used>>);

struct Used {
    requests: Window,
    tokens: Window,
    /// About how many tokens the work in progress takes.
    reserved: u64,
}

const SPENT: &str = "the key has used its tokens of the day";

/// When to come back if work in progress may leave some tokens.
const SOON: Duration = Duration::from_secs(1);

/// The use in a period; the next one begins at 0.
struct Window {
    since: Instant,
    used: u64,
}

impl Window {
    /// The use in the current period, and the time until it ends.
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
        let mut all = lock(&self.0);
        let used = all.entry(key.to_owned()).or_insert_with(|| Used {
            requests: window(),
            tokens: window(),
            reserved: 0,
        });
        work(used)
    }

    /// Counts a request.
    ///
    /// # Errors
    /// A key that has used up its quota.
    pub(crate) fn request(&self, key: &KeyRecord, now: Instant) -> Result<(), Refusal> {
        self.with(&key.id, now, |used| {
            let (tokens, ends) = used.tokens.at(now, DAY);
            if key.grant.tokens_per_day.is_some_and(|most| *tokens >= most) {
                return Err(refusal("token_quota", SPENT, ends));
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

    /// Reserves tokens for work that begins, until it is settled.
    ///
    /// # Errors
    /// A key that has no tokens left besides those reserved.
    pub(crate) fn reserve(
        &self,
        key: &KeyRecord,
        tokens: u64,
        now: Instant,
    ) -> Result<(), Refusal> {
        self.with(&key.id, now, |used| {
            let (spent, ends) = used.tokens.at(now, DAY);
            let most = key.grant.tokens_per_day.unwrap_or(u64::MAX);
            if *spent >= most {
                return Err(refusal("token_quota", SPENT, ends));
            }
            // The rest may be less than the work takes: only its end shows that.
            if spent.saturating_add(used.reserved) >= most {
                let message =
                    "the key's work under way takes what is left of its tokens of the day";
                return Err(refusal("token_quota", message, SOON));
            }
            used.reserved = used.reserved.saturating_add(tokens);
            Ok(())
        })
    }

    /// Counts the tokens that work has spent, in place of those reserved for it.
    pub(crate) fn settle(&self, key: &str, reserved: u64, spent: u64, now: Instant) {
        self.with(key, now, |used| {
            used.reserved = used.reserved.saturating_sub(reserved);
            let (used, _) = used.tokens.at(now, DAY);
            *used = used.saturating_add(spent);
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
        quotas.settle(&few.id, 0, 9, start);
        assert_eq!(code(&few, 61), None);
        quotas.settle(&few.id, 0, 9, start);
        assert_eq!(code(&few, 130), Some("token_quota"));
        assert_eq!(code(&few, 24 * 60 * 60), None);
    }

    #[test]
    fn what_is_under_way_counts_until_it_is_settled() {
        let (quotas, now) = (Quotas::default(), Instant::now());
        let (few, other) = (key(None, Some(100)), key(None, None));
        let reserve = |key: &KeyRecord, tokens| quotas.reserve(key, tokens, now).is_ok();
        assert_eq!(
            [60, 60, 1].map(|tokens| reserve(&few, tokens)),
            [true, true, false]
        );
        // The work took less than it had reserved: one more fits.
        quotas.settle(&few.id, 60, 10, now);
        assert_eq!([60, 60].map(|tokens| reserve(&few, tokens)), [true, false]);
        quotas.settle(&few.id, 60, 45, now);
        quotas.settle(&few.id, 60, 45, now);
        assert_eq!(quotas.request(&few, now).unwrap_err().code(), "token_quota");
        assert!((0..9).all(|_| reserve(&other, 1 << 40)));
    }
}
