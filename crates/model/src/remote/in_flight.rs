//! Several requests in flight at a time.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError, mpsc};

use super::error::RemoteError;

/// The requests in flight at several endpoints, shared by all calls.
#[derive(Debug)]
pub(super) struct InFlight {
    counts: Mutex<Vec<usize>>,
    /// The most at each.
    most: usize,
    freed: Condvar,
}

impl InFlight {
    pub(super) fn at(endpoints: usize, most: usize) -> Self {
        Self {
            counts: Mutex::new(vec![0; endpoints]),
            most,
            freed: Condvar::new(),
        }
    }

    /// Sends a request to the endpoint with the fewest in flight, as soon as it has room. A request with a waiting
    /// caller goes at once.
    pub(super) fn with<T>(&self, is_awaited: bool, send: impl FnOnce(usize) -> T) -> T {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full =
            |counts: &mut Vec<usize>| !is_awaited && counts.iter().all(|count| *count >= self.most);
        let waited = self.freed.wait_while(counts, is_full);
        let mut counts = waited.unwrap_or_else(PoisonError::into_inner);
        let least = (0..counts.len()).min_by_key(|&endpoint| counts[endpoint]);
        let endpoint = least.unwrap_or_default();
        counts[endpoint] += 1;
        drop(counts);
        let sent = send(endpoint);
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts[endpoint] -= 1;
        self.freed.notify_one();
        sent
    }
}

/// Runs jobs `0..jobs`, at most `limit` at a time. `done` receives each result on the calling
/// thread, in order of completion.
///
/// # Errors
/// The first failure; jobs that have not started by then are skipped. Results of jobs already in flight are still
/// delivered.
pub(super) fn for_each_concurrent<T: Send>(
    limit: usize,
    jobs: usize,
    work: impl Fn(usize) -> Result<T, RemoteError> + Sync,
    mut done: impl FnMut(usize, T),
) -> Result<(), RemoteError> {
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..limit.min(jobs) {
            let sender = sender.clone();
            let (next, failed, work) = (&next, &failed, &work);
            scope.spawn(move || {
                while !failed.load(Ordering::Relaxed) {
                    let job = next.fetch_add(1, Ordering::Relaxed);
                    if job >= jobs {
                        break;
                    }
                    let result = work(job);
                    if result.is_err() {
                        failed.store(true, Ordering::Relaxed);
                    }
                    if sender.send((job, result)).is_err() {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let mut first = Ok(());
        for (job, result) in receiver {
            match result {
                Ok(result) => done(job, result),
                Err(error) => first = first.and(Err(error)),
            }
        }
        first
    })
}

/// The results of jobs `0..jobs` in order, run as by [`for_each_concurrent`].
///
/// # Errors
/// The first failure.
pub(super) fn map_concurrent<T: Send>(
    limit: usize,
    jobs: usize,
    work: impl Fn(usize) -> Result<T, RemoteError> + Sync,
) -> Result<impl Iterator<Item = T>, RemoteError> {
    let mut results: Vec<Option<T>> = (0..jobs).map(|_| None).collect();
    for_each_concurrent(limit, jobs, work, |job, result| results[job] = Some(result))?;
    Ok(results.into_iter().flatten())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_runs_once_and_never_too_many_at_a_time() {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = |job| {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::sleep(std::time::Duration::from_millis(1));
            now.fetch_sub(1, Ordering::SeqCst);
            Ok(job * job)
        };
        let results: Vec<usize> = map_concurrent(3, 40, work).unwrap().collect();
        assert_eq!(results, (0..40).map(|job| job * job).collect::<Vec<_>>());
        assert!(most.into_inner() <= 3);
    }

    #[test]
    fn calls_share_the_endpoints_evenly_and_within_their_limit() {
        let in_flight = InFlight::at(2, 3);
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let asked = [0, 0].map(AtomicUsize::new);
        let call = || {
            for _ in 0..20 {
                in_flight.with(false, |endpoint| {
                    asked[endpoint].fetch_add(1, Ordering::SeqCst);
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::thread::sleep(std::time::Duration::from_millis(1));
                    now.fetch_sub(1, Ordering::SeqCst);
                });
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..10 {
                scope.spawn(call);
            }
        });
        assert!((4..=6).contains(&most.into_inner()));
        // Requests with a waiting caller may exceed the limit.
        let full = InFlight::at(1, 1);
        assert!(full.with(false, |_| full.with(true, |_| true)));
        assert!(asked.iter().all(|asked| asked.load(Ordering::SeqCst) > 60));
    }

    #[test]
    fn after_an_error_no_job_is_started() {
        let started = AtomicUsize::new(0);
        let work = |_| {
            started.fetch_add(1, Ordering::SeqCst);
            Err::<(), _>(RemoteError::NoSamples)
        };
        let error = for_each_concurrent(2, 100, work, |_, ()| {}).unwrap_err();
        assert_eq!(error.kind(), "no_samples");
        assert!(started.into_inner() <= 2);
    }
}
