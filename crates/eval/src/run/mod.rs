//! The one resumable run: works on questions, or sentences, in batches, and appends each record as soon as it exists.
//! A later run with the same file resumes it. Callers define the work, and show progress.

mod error;
mod task;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use ken_answer::AnswerError;

pub use error::RunError;
pub use task::Task;

use crate::dataset::Question;
use crate::results::{Line, ResultsFile};

/// An item of a run: a question, or a sentence.
pub trait Item {
    /// Unique among all.
    fn id(&self) -> &str;
}

impl Item for Question {
    fn id(&self) -> &str {
        &self.id
    }
}

/// The record of an item.
pub trait RunRecord: Line {
    /// The type of items.
    type Item: Item;

    /// The task on each item.
    const TASK: Task;

    /// Whether this is the record of `item` as it is now.
    fn is_of(&self, item: &Self::Item) -> bool;

    /// For errors: the item that is recorded instead of `item`, as "under the id … another …".
    fn recorded(&self, item: &Self::Item) -> String;

    /// Whether the answer is right, if there is one.
    fn is_right(&self) -> bool {
        false
    }
}

/// Makes a type the record of a question by a task, in files that a command writes; it belongs to the question with
/// equal fields.
#[macro_export]
macro_rules! record_of_question {
    ($record:ty, $task:ident by $action:ident, [$($same:ident),+] $($more:tt)*) => {
        impl $crate::results::Line for $record {
            const WRITTEN_BY: ::ken_diagnostic::Action = ::ken_diagnostic::Action::$action;

            fn id(&self) -> &str {
                &self.id
            }
        }

        impl $record {
            /// The record of a question of which nothing is known yet.
            pub(crate) fn of(question: &$crate::dataset::Question) -> Self {
                Self {
                    id: question.id.clone(),
                    $($same: question.$same.clone(),)+
                    ..Self::default()
                }
            }
        }

        impl $crate::run::RunRecord for $record {
            type Item = $crate::dataset::Question;

            const TASK: $crate::run::Task = $crate::run::Task::$task;

            fn is_of(&self, question: &Self::Item) -> bool {
                $(self.$same == question.$same)&&+
            }

            fn recorded(&self, question: &Self::Item) -> String {
                question.other_than(&self.question)
            }

            $($more)*
        }
    };
}

/// The progress of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunProgress {
    /// The current task; labeling sources has two.
    pub task: Task,
    /// Items with a record, including those of an earlier run.
    pub done: usize,
    /// The number of items.
    pub total: usize,
    /// Of `done`, the records of an earlier run.
    pub resumed: usize,
    /// Of `done`, the right answers.
    pub right: usize,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome<L> {
    /// The records in the order of the items; only those that exist if interrupted.
    pub records: Vec<L>,
    /// The number of items.
    pub total: usize,
    /// How many of the records come from an earlier run.
    pub resumed: usize,
    /// Whether it was cancelled before the last item.
    pub interrupted: bool,
}

impl<L: RunRecord> Outcome<L> {
    /// `self`, unless it was interrupted; `out` is the file of records.
    ///
    /// # Errors
    /// [`RunError::Stopped`].
    pub fn complete(self, out: &Path) -> Result<Self, RunError> {
        match self.interrupted {
            false => Ok(self),
            true => Err(RunError::Stopped {
                done: self.records.len(),
                total: self.total,
                items: L::TASK.items(),
                out: out.to_owned(),
            }),
        }
    }
}

/// How a run proceeds: its batch size, its observer, and its cancellation.
pub struct Run<'a> {
    /// Items per batch.
    pub batch: usize,
    /// Ends the run before the next batch.
    pub cancel: &'a AtomicBool,
    progress: Box<dyn FnMut(RunProgress) + 'a>,
}

/// The records of a batch; single records, or all of them, may have failed.
pub type Records<L> = Result<Vec<Result<L, AnswerError>>, AnswerError>;

/// The work on items.
pub struct Work<'a, L: RunRecord> {
    /// Returns a record for each item of a batch.
    pub batch: &'a mut dyn FnMut(&[&L::Item]) -> Records<L>,
    /// The record of an item that cannot be worked on.
    pub failed: &'a dyn Fn(&L::Item, &AnswerError) -> L,
    /// Whether a record of an earlier run is complete.
    pub is_complete: &'a dyn Fn(&L) -> bool,
}

impl<'a> Run<'a> {
    /// A run over `batch` items at a time. `progress` is called once at the start and after each batch; `cancel` is
    /// checked before each batch, and when one fails, since the same flag may stop a model.
    pub fn new(
        batch: usize,
        cancel: &'a AtomicBool,
        progress: impl FnMut(RunProgress) + 'a,
    ) -> Self {
        Self {
            batch,
            cancel,
            progress: Box::new(progress),
        }
    }

    /// Works on those of `items` without a complete record in `file`, and appends each record as soon as it exists.
    /// An item that is itself at fault, such as one that is too long, gets a record of failure.
    ///
    /// # Errors
    /// A record of a different item under the same id; the first failure that would affect other items as well, or
    /// the first record that cannot be written. Another run with the same file resumes it.
    pub fn keep<'i, L: RunRecord<Item: 'i>>(
        &mut self,
        items: impl IntoIterator<Item = &'i L::Item>,
        file: &mut ResultsFile<L>,
        mut work: Work<'_, L>,
    ) -> Result<Outcome<L>, RunError> {
        let items: Vec<&L::Item> = items.into_iter().collect();
        let mut step = RunProgress {
            task: L::TASK,
            done: 0,
            total: items.len(),
            resumed: 0,
            right: 0,
        };
        let mut open = Vec::new();
        for &item in &items {
            match record_of(item, file)?.filter(|record| (work.is_complete)(record)) {
                Some(record) => {
                    step.resumed += 1;
                    step.count(record);
                }
                None => open.push(item),
            }
        }
        (self.progress)(step);
        let mut interrupted = false;
        for batch in open.chunks(self.batch.max(1)) {
            interrupted = self.cancel.load(Ordering::Relaxed);
            if interrupted {
                break;
            }
            let kept = keep_each(batch, file, &mut work, &mut step);
            // A batch is expensive, so its records are synced before the next one starts.
            file.sync()?;
            (self.progress)(step);
            interrupted = kept.is_err() && self.cancel.load(Ordering::Relaxed);
            match kept {
                Err(RunError::Work { .. }) if interrupted => break,
                kept => kept?,
            }
        }
        Ok(Outcome {
            records: records_of(items, file),
            total: step.total,
            resumed: step.resumed,
            interrupted,
        })
    }
}

impl RunProgress {
    fn count(&mut self, record: &impl RunRecord) {
        self.done += 1;
        self.right += usize::from(record.is_right());
    }
}

/// The records of items, in order.
pub fn records_of<'i, L: RunRecord<Item: 'i>>(
    items: impl IntoIterator<Item = &'i L::Item>,
    file: &ResultsFile<L>,
) -> Vec<L> {
    let records = items.into_iter().filter_map(|item| file.get(item.id()));
    records.cloned().collect()
}

/// The record of an item, if there is one.
///
/// # Errors
/// A record of a different item with the same id.
pub fn record_of<'f, L: RunRecord>(
    item: &L::Item,
    file: &'f ResultsFile<L>,
) -> Result<Option<&'f L>, RunError> {
    match file.get(item.id()) {
        Some(record) if !record.is_of(item) => {
            Err(RunError::other_item(L::TASK, record.recorded(item)))
        }
        record => Ok(record),
    }
}

/// Works on a batch of items, or one by one if an item is at fault, and appends their records.
fn keep_each<L: RunRecord>(
    items: &[&L::Item],
    file: &mut ResultsFile<L>,
    work: &mut Work<'_, L>,
    step: &mut RunProgress,
) -> Result<(), RunError> {
    let records = match (work.batch)(items) {
        Ok(records) => records,
        Err(error) if error.concerns_question() && items.len() > 1 => {
            let mut items = items.iter();
            return items.try_for_each(|&item| keep_each(&[item], file, work, step));
        }
        Err(error) => vec![Err(error)],
    };
    let mut failure = None;
    for (&item, record) in items.iter().zip(records) {
        let record = match record {
            Ok(record) => record,
            Err(error) if error.concerns_question() => (work.failed)(item, &error),
            Err(error) => {
                failure.get_or_insert(RunError::Work {
                    task: L::TASK,
                    id: item.id().to_owned(),
                    source: Box::new(error),
                });
                continue;
            }
        };
        step.count(&record);
        file.append(record)?;
    }
    failure.map_or(Ok(()), Err)
}

/// Works on items in batches and concatenates the results, for work that keeps nothing when it stops. `progress`
/// receives how many items are done, and the total. `None` if it was cancelled.
///
/// # Errors
/// The first failure.
pub fn in_memory<T, R, E>(
    items: &[T],
    batch: usize,
    progress: &mut dyn FnMut(usize, usize),
    cancel: &AtomicBool,
    mut work: impl FnMut(&[T]) -> Result<Vec<R>, E>,
) -> Result<Option<Vec<R>>, E> {
    let mut done = Vec::with_capacity(items.len());
    progress(0, items.len());
    for batch in items.chunks(batch.max(1)) {
        if cancel.load(Ordering::Relaxed) {
            return Ok(None);
        }
        match work(batch) {
            // A model that is stopped from outside fails.
            Err(_) if cancel.load(Ordering::Relaxed) => return Ok(None),
            found => done.extend(found?),
        }
        progress(done.len(), items.len());
    }
    Ok(Some(done))
}
