//! Work on questions, or sentences, a batch at a time, each of whose records is kept as soon as there is one, and
//! which goes on where it was stopped. What the work is, is the caller's.

use std::sync::atomic::{AtomicBool, Ordering};

use ken_answer::AnswerError;

use crate::dataset::Question;
use crate::results::{Line, ResultsError, ResultsFile};

/// What is worked on: a question, or a sentence.
pub(crate) trait Item {
    /// Unique among all.
    fn id(&self) -> &str;
}

impl Item for Question {
    fn id(&self) -> &str {
        &self.id
    }
}

/// A record that can be told to be that of an item.
pub(crate) trait RecordOf<T>: Line {
    /// Whether this is the record of `item` as it is now.
    fn is_of(&self, item: &T) -> bool;

    /// What is recorded instead of `item`.
    fn recorded(&self, item: &T) -> String;
}

/// Why work stopped. All records before it are kept.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Stopped {
    /// No other item could be worked on either.
    #[error("{id:?}: {source}")]
    Work {
        /// The item at which that was found out.
        id: String,
        /// Why not.
        source: Box<AnswerError>,
    },
    /// The file holds a record of another item of this id.
    #[error("another one under the id {id:?}: {recorded:?}")]
    Other {
        /// The shared id.
        id: String,
        /// What the file has.
        recorded: String,
    },
    /// A record could not be kept.
    #[error(transparent)]
    Results(#[from] ResultsError),
}

/// The records of items that were worked on at once, or why none of them could be.
pub(crate) type Records<L> = Result<Vec<Option<L>>, AnswerError>;

/// What is done with items.
pub(crate) struct Work<'a, T, L> {
    /// Takes items, all of them at once, and gives a record of each; `None` for one on which the
    /// model was stopped.
    pub(crate) batch: &'a mut dyn FnMut(&[&T]) -> Records<L>,
    /// The record of an item that itself cannot be worked on.
    pub(crate) failed: &'a dyn Fn(&T, &AnswerError) -> L,
}

/// Works on every one of `items` that `results` has no record of yet, `batch` at a time. `progress`
/// is called with the number of those that have a record, once at the start and after each batch;
/// `cancel` is looked at before each, and when one fails: the model may be stopped by the same flag.
/// Returns whether every item has a record now.
///
/// # Errors
/// The first failure that other items would meet as well, or the first record that cannot be kept.
pub(crate) fn in_batches<T: Item, L: RecordOf<T>>(
    items: &[&T],
    results: &mut ResultsFile<L>,
    batch: usize,
    mut work: Work<'_, T, L>,
    progress: &mut dyn FnMut(usize),
    cancel: &AtomicBool,
) -> Result<bool, Stopped> {
    let open = without_record(items, results)?;
    let mut done = items.len() - open.len();
    progress(done);
    for items in open.chunks(batch.max(1)) {
        if cancel.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let kept = each(items, results, &mut work);
        // What took so long is not left to the next batch to bring to the disk.
        results.sync()?;
        match kept {
            Ok(kept) => done += kept,
            Err(Stopped::Work { .. }) if cancel.load(Ordering::Relaxed) => return Ok(false),
            Err(error) => return Err(error),
        }
        progress(done);
    }
    Ok(true)
}

/// The items that there is no record of.
///
/// # Errors
/// A record of another item with the same id.
pub(crate) fn without_record<'i, T: Item, L: RecordOf<T>>(
    items: &[&'i T],
    results: &ResultsFile<L>,
) -> Result<Vec<&'i T>, Stopped> {
    let mut open = Vec::new();
    for &item in items {
        match results.get(item.id()) {
            None => open.push(item),
            Some(record) if record.is_of(item) => {}
            Some(record) => {
                return Err(Stopped::Other {
                    id: item.id().to_owned(),
                    recorded: record.recorded(item),
                });
            }
        }
    }
    Ok(open)
}

/// Works on items at once, or one by one where one of them is at fault, and returns how many
/// records were kept.
fn each<T: Item, L: RecordOf<T>>(
    items: &[&T],
    results: &mut ResultsFile<L>,
    work: &mut Work<'_, T, L>,
) -> Result<usize, Stopped> {
    let Some(first) = items.first() else {
        return Ok(0);
    };
    let stopped = |source: AnswerError| Stopped::Work {
        id: first.id().to_owned(),
        source: Box::new(source),
    };
    match (work.batch)(items) {
        Ok(records) => {
            let all = records.iter().all(Option::is_some);
            let mut kept = 0;
            for record in records.into_iter().flatten() {
                results.append(record)?;
                kept += 1;
            }
            match all {
                true => Ok(kept),
                false => Err(stopped(AnswerError::Interrupted)),
            }
        }
        Err(error) if error.concerns_question() && items.len() > 1 => {
            let mut kept = 0;
            for item in items {
                kept += each(&[*item], results, work)?;
            }
            Ok(kept)
        }
        Err(error) if error.concerns_question() => {
            results.append((work.failed)(first, &error))?;
            Ok(1)
        }
        Err(error) => Err(stopped(error)),
    }
}
