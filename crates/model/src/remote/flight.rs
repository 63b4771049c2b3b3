//! Several requests at a time.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

use super::error::RemoteError;

/// Does jobs 0 to `jobs`, at most `limit` at a time. `done` receives their results on the calling
/// thread, in the order in which they come.
///
/// # Errors
/// The first that comes; jobs that had not begun by then are left out. Those that had are still
/// done where they can be.
pub(super) fn in_flight<T: Send>(
    limit: usize,
    jobs: usize,
    work: &(dyn Fn(usize) -> Result<T, RemoteError> + Sync),
    done: &mut dyn FnMut(usize, T),
) -> Result<(), RemoteError> {
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..limit.min(jobs) {
            let sender = sender.clone();
            let (next, failed) = (&next, &failed);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_is_done_once_and_never_too_many_at_a_time() {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let mut results = vec![0; 40];
        let work = |job| {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::sleep(std::time::Duration::from_millis(1));
            now.fetch_sub(1, Ordering::SeqCst);
            Ok(job * job)
        };
        in_flight(3, 40, &work, &mut |job, result| results[job] += result).unwrap();
        assert!(results.iter().enumerate().all(|(job, &r)| r == job * job));
        assert!(most.into_inner() <= 3);
    }

    #[test]
    fn after_an_error_no_job_is_begun() {
        let begun = AtomicUsize::new(0);
        let work = |_| {
            begun.fetch_add(1, Ordering::SeqCst);
            Err::<(), _>(RemoteError::NoSamples)
        };
        let error = in_flight(2, 100, &work, &mut |_, ()| {}).unwrap_err();
        assert_eq!(error.kind(), "no_samples");
        assert!(begun.into_inner() <= 2);
    }
}
