//! Computes large calls slice by slice on separate threads, so that they never delay a question, which is computed on
//! the threads of its caller. One slice is computed at a time, across all encoders: calls with a waiting caller take
//! turns, and background work gets the turns that no such call wants.

use std::collections::VecDeque;
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::batches::FULL_TOKENS;

/// Full batches per thread in a slice: enough that threads which finish early idle little, few enough that a slice
/// takes less than a second on a slow machine.
const BATCHES_PER_THREAD: usize = 8;

/// The priority of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// A caller is waiting for the result.
    Awaited,
    /// Background work.
    Background,
}

static SLICES: LazyLock<Slices> = LazyLock::new(|| {
    let threads = rayon::current_num_threads();
    Slices {
        pool: ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|number| format!("slices-{number}"))
            .build()
            .ok(),
        tokens: BATCHES_PER_THREAD * FULL_TOKENS * threads,
        turns: Turns::default(),
    }
});

struct Slices {
    /// `None` if the system has no more threads; the caller's threads are used then.
    pool: Option<ThreadPool>,
    /// The tokens of a slice.
    tokens: usize,
    turns: Turns,
}

/// Computes items in slices, by a function that returns one result for each item of a slice; `tokens` estimates the
/// tokens of an item. The results are in the order of the items. A caller on a thread of a pool computes everything
/// itself: while it waited for a turn, that pool might give it work that waits for the same turn.
pub(super) fn in_slices<I: Sync, T: Send, E: Send>(
    items: &[I],
    class: Class,
    tokens: impl Fn(&I) -> usize,
    compute: impl Fn(&[I]) -> Result<Vec<T>, E> + Sync,
) -> Result<Vec<T>, E> {
    if rayon::current_thread_index().is_some() {
        return compute(items);
    }
    let Slices {
        pool,
        tokens: most,
        turns,
    } = &*SLICES;
    let mut results = Vec::with_capacity(items.len());
    let mut rest = items;
    while !rest.is_empty() {
        let (slice, after) = rest.split_at(slice_length(rest, *most, &tokens));
        rest = after;
        let _turn = turns.take(class);
        results.extend(match pool {
            Some(pool) => pool.install(|| compute(slice))?,
            None => compute(slice)?,
        });
    }
    Ok(results)
}

/// How many of the first items have no more than `most` tokens; at least one.
fn slice_length<I>(items: &[I], most: usize, tokens: &impl Fn(&I) -> usize) -> usize {
    let mut sum = 0;
    let fits = items.iter().take_while(|item| {
        sum += tokens(item);
        sum <= most
    });
    fits.count().max(1)
}

/// Gives out turns, one at a time.
#[derive(Default)]
struct Turns {
    line: Mutex<Line>,
    changed: Condvar,
}

#[derive(Default)]
struct Line {
    is_taken: bool,
    next: u64,
    awaited: VecDeque<u64>,
    background: VecDeque<u64>,
}

impl Line {
    fn of(&mut self, class: Class) -> &mut VecDeque<u64> {
        match class {
            Class::Awaited => &mut self.awaited,
            Class::Background => &mut self.background,
        }
    }

    /// Chooses the next call if none has the turn.
    fn first(&self) -> Option<u64> {
        self.awaited.front().or(self.background.front()).copied()
    }
}

/// The turn, which ends on drop.
struct Turn<'t>(&'t Turns);

impl Turns {
    fn take(&self, class: Class) -> Turn<'_> {
        let mut line = self.lock();
        let own = line.next;
        line.next += 1;
        line.of(class).push_back(own);
        while line.is_taken || line.first() != Some(own) {
            line = self
                .changed
                .wait(line)
                .unwrap_or_else(PoisonError::into_inner);
        }
        line.of(class).pop_front();
        line.is_taken = true;
        Turn(self)
    }

    fn lock(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.lock().is_taken = false;
        self.0.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn slices_are_bounded_by_their_tokens_and_cover_everything() {
        let most = SLICES.tokens;
        let items: Vec<usize> = (0..50).map(|n| n * most / 100).collect();
        let seen = Mutex::new(Vec::new());
        let doubled = in_slices(
            &items,
            Class::Awaited,
            |&tokens| tokens,
            |slice| {
                seen.lock().unwrap().push(slice.to_vec());
                Ok::<_, Infallible>(slice.iter().map(|item| 2 * item).collect())
            },
        );
        let expected: Vec<usize> = items.iter().map(|item| 2 * item).collect();
        assert_eq!(doubled.unwrap(), expected);
        let seen = seen.into_inner().unwrap();
        assert_eq!(seen.concat(), items);
        assert!(seen.len() > 10, "{}", seen.len());
        for slice in seen {
            assert!(slice.len() == 1 || slice.iter().sum::<usize>() <= most);
        }
        // An item that is too long for any slice gets its own.
        assert_eq!(slice_length(&[5, 1], 4, &|&tokens| tokens), 1);
    }

    #[test]
    fn whoever_is_waited_for_goes_before_the_background_and_calls_take_turns() {
        let turns = Turns::default();
        let order = Mutex::new(Vec::new());
        thread::scope(|scope| {
            let held = turns.take(Class::Background);
            for (name, class) in [
                ("low", Class::Background),
                ("one", Class::Awaited),
                ("two", Class::Awaited),
            ] {
                let before = turns.lock().next;
                let (turns, order) = (&turns, &order);
                scope.spawn(move || {
                    for _ in 0..3 {
                        let turn = turns.take(class);
                        order.lock().unwrap().push(name);
                        // The others are queued by then.
                        thread::sleep(Duration::from_millis(20));
                        drop(turn);
                    }
                });
                let end = Instant::now() + Duration::from_secs(10);
                while turns.lock().next == before && Instant::now() < end {
                    thread::yield_now();
                }
            }
            drop(held);
        });
        let order = order.into_inner().unwrap();
        assert_eq!(order[order.len() - 2..], ["low", "low"], "{order:?}");
        assert_eq!(order[..2], ["one", "two"], "{order:?}");
        assert_eq!(order[2..6].iter().filter(|name| **name == "one").count(), 2);
    }

    #[test]
    fn a_slice_that_panics_gives_its_turn_back() {
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            in_slices(
                &[1],
                Class::Awaited,
                |_| 1,
                |_| -> Result<Vec<()>, Infallible> { panic!("on purpose") },
            )
        }));
        assert!(panicked.is_err());
        let next = in_slices(
            &[1],
            Class::Background,
            |_| 1,
            |slice| Ok::<_, Infallible>(slice.to_vec()),
        );
        assert_eq!(next.unwrap(), [1]);
    }
}
