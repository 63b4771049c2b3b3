//! Computes small calls from many threads together: while as many calls compute as there are threads, later calls
//! gather, and the next one to compute takes all of them. So no call waits for others to arrive, and under load the
//! weights are read once for many texts.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::error::EncoderError;
use super::tokens::Sequence;

/// The most tokens that are computed together, so that the first call does not wait long; a longer call is computed
/// alone.
const MOST_TOKENS: usize = 1024;

/// Calls that compute, and calls that wait.
pub(super) struct Together<T> {
    calls: Mutex<Calls<T>>,
    changed: Condvar,
}

struct Calls<T> {
    next: u64,
    /// How many compute.
    computing: usize,
    /// The waiting calls, by number.
    gathered: VecDeque<(u64, Arc<Vec<Sequence>>)>,
    /// Results of calls that another call computed; `None` if that failed, and the call must compute alone.
    done: HashMap<u64, Option<Vec<T>>>,
}

impl<T> Default for Together<T> {
    fn default() -> Self {
        Self {
            calls: Mutex::new(Calls {
                next: 0,
                computing: 0,
                gathered: VecDeque::new(),
                done: HashMap::new(),
            }),
            changed: Condvar::new(),
        }
    }
}

impl<T> Together<T> {
    /// One result for each sequence, by a function from any number of sequences to their results.
    pub(super) fn compute(
        &self,
        sequences: Vec<Sequence>,
        compute: impl Fn(&[Sequence]) -> Result<Vec<T>, EncoderError>,
    ) -> Result<Vec<T>, EncoderError> {
        // A thread of the pool must not wait for something that may need this thread.
        if rayon::current_thread_index().is_some() {
            return compute(&sequences);
        }
        let sequences = Arc::new(sequences);
        let taken = {
            let mut calls = self.lock();
            let own = calls.next;
            calls.next += 1;
            calls.gathered.push_back((own, Arc::clone(&sequences)));
            loop {
                if let Some(done) = calls.done.remove(&own) {
                    drop(calls);
                    return done.map_or_else(|| compute(&sequences), Ok);
                }
                // Another call may have taken it, and still be computing.
                let waits = calls.gathered.iter().any(|(number, _)| *number == own);
                if waits && calls.computing < rayon::current_num_threads() {
                    break;
                }
                calls = self
                    .changed
                    .wait(calls)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            calls.computing += 1;
            Taken {
                by: self,
                own,
                calls: calls.take(own),
            }
        };
        taken.compute(&compute)
    }

    fn lock(&self) -> MutexGuard<'_, Calls<T>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Calls<T> {
    /// Takes the call of this number, and as many others as fit with it.
    fn take(&mut self, own: u64) -> Vec<(u64, Arc<Vec<Sequence>>)> {
        let mut taken = Vec::new();
        if let Some(index) = self.gathered.iter().position(|(number, _)| *number == own) {
            taken.extend(self.gathered.remove(index));
        }
        let tokens = |sequences: &[Sequence]| sequences.iter().map(Sequence::len).sum::<usize>();
        let mut amount: usize = taken.iter().map(|(_, sequences)| tokens(sequences)).sum();
        while let Some((_, sequences)) = self.gathered.front() {
            amount += tokens(sequences);
            if amount > MOST_TOKENS {
                break;
            }
            taken.extend(self.gathered.pop_front());
        }
        taken
    }
}

/// Calls that one of them computes. However that ends, the others are notified.
struct Taken<'t, T> {
    by: &'t Together<T>,
    own: u64,
    calls: Vec<(u64, Arc<Vec<Sequence>>)>,
}

impl<T> Taken<'_, T> {
    fn compute(
        mut self,
        compute: &impl Fn(&[Sequence]) -> Result<Vec<T>, EncoderError>,
    ) -> Result<Vec<T>, EncoderError> {
        let senders = self
            .calls
            .iter()
            .flat_map(|(_, sequences)| sequences.iter());
        let all: Vec<Sequence> = senders.cloned().collect();
        let mut results = match compute(&all) {
            Ok(results) => results.into_iter(),
            // The text of another call may have failed.
            Err(_) if self.calls.len() > 1 => {
                let own = self.calls.iter().find(|(number, _)| *number == self.own);
                let own = own.map(|(_, sequences)| Arc::clone(sequences));
                drop(self);
                return compute(&own.unwrap_or_default());
            }
            Err(error) => return Err(error),
        };
        let mut mine = Vec::new();
        let mut done = Vec::new();
        for (number, sequences) in std::mem::take(&mut self.calls) {
            let of_call: Vec<T> = results.by_ref().take(sequences.len()).collect();
            match number == self.own {
                true => mine = of_call,
                false => done.push((number, Some(of_call))),
            }
        }
        self.by.lock().done.extend(done);
        Ok(mine)
    }
}

impl<T> Drop for Taken<'_, T> {
    fn drop(&mut self) {
        let mut calls = self.by.lock();
        calls.computing -= 1;
        for (number, _) in &self.calls {
            if *number != self.own {
                calls.done.insert(*number, None);
            }
        }
        drop(calls);
        self.by.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;
    use std::time::Duration;

    use super::*;

    fn sequence(id: u32) -> Sequence {
        Sequence {
            ids: vec![id],
            types: vec![0],
        }
    }

    /// Doubles ids, slowly; the id 7 fails.
    fn doubled(sequences: &[Sequence]) -> Result<Vec<u32>, EncoderError> {
        thread::sleep(Duration::from_millis(2));
        let doubled = sequences.iter().map(|sequence| match sequence.ids[0] {
            7 => Err(EncoderError::Missing("7".into())),
            id => Ok(2 * id),
        });
        doubled.collect()
    }

    #[test]
    fn each_call_gets_its_own_results_and_its_own_failure() {
        let (together, computed) = (Together::default(), AtomicUsize::new(0));
        let calls = 400;
        thread::scope(|scope| {
            for thread in 0..40_u32 {
                let (together, computed) = (&together, &computed);
                scope.spawn(move || {
                    for round in 0..10 {
                        let ids: Vec<u32> = (0..thread % 3 + 1)
                            .map(|n| 1000 * round + thread + n)
                            .collect();
                        let sequences = ids.iter().map(|&id| sequence(id)).collect();
                        let got = together.compute(sequences, |all| {
                            computed.fetch_add(1, Ordering::Relaxed);
                            doubled(all)
                        });
                        if ids.contains(&7) {
                            assert!(got.is_err());
                        } else {
                            let wanted: Vec<u32> = ids.iter().map(|id| 2 * id).collect();
                            assert_eq!(got.unwrap(), wanted);
                        }
                    }
                });
            }
        });
        let calls_left = together.lock();
        assert!(calls_left.gathered.is_empty() && calls_left.done.is_empty());
        assert_eq!(calls_left.computing, 0);
        let computed = computed.into_inner();
        assert!(
            computed < calls / 2,
            "{computed} computations of {calls} calls"
        );
    }

    #[test]
    fn a_panic_of_one_call_leaves_the_others_their_results() {
        let together: Together<u32> = Together::default();
        thread::scope(|scope| {
            for thread in 0..16_u32 {
                let together = &together;
                scope.spawn(move || {
                    let got = catch_unwind(AssertUnwindSafe(|| {
                        together.compute(vec![sequence(thread)], |all| {
                            thread::sleep(Duration::from_millis(5));
                            assert!(all.iter().all(|one| one.ids[0] != 3), "on purpose");
                            doubled(all)
                        })
                    }));
                    // The call that computed together with 3 panics, too.
                    if let Ok(Ok(got)) = got {
                        assert_eq!(got, [2 * thread]);
                    }
                });
            }
        });
        assert_eq!(together.lock().computing, 0);
    }
}
