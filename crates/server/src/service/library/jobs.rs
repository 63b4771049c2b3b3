//! The jobs of a server, one after the other: those of a key in their order, and keys by turns. Those that are not
//! over are kept on disk, so that a server that was killed goes on with them.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use ken_storage::StorageError;

use super::job::{Job, Order, Status, Work};
use crate::lock::lock;
use crate::service::clock::unix_seconds;
use crate::service::gate::Load;
use crate::service::record;
use crate::wire::refusal::Refusal;

/// The most jobs that wait.
const MOST_WAITING: usize = 256;

/// The most jobs that are remembered when they are over.
const REMEMBERED: usize = 512;

/// When to come back to a server that has too many jobs.
const BUSY: Duration = Duration::from_secs(5);

/// All jobs.
pub(crate) struct Jobs {
    /// A record of each that is not over, and a folder with what was sent with it.
    folder: PathBuf,
    /// Whether one more can be taken on.
    check: fn(&Known) -> Result<(), Refusal>,
    known: Mutex<Known>,
    wake: Condvar,
}

#[derive(Default)]
struct Known {
    /// In the order in which they came.
    waiting: VecDeque<Arc<Job>>,
    /// The keys whose jobs were begun, the last one at the end; each once.
    begun: Vec<Option<String>>,
    /// How many run: one at most.
    running: usize,
    /// Oldest first.
    all: VecDeque<Arc<Job>>,
}

impl Jobs {
    /// Goes on with those of a folder, and removes what belongs to none.
    ///
    /// # Errors
    /// A folder or record that cannot be read.
    pub(crate) fn open(folder: PathBuf) -> Result<Self, record::RecordError> {
        let orders: Vec<Order> = record::all(&folder)?;
        let mut jobs: Vec<Arc<Job>> = orders
            .into_iter()
            .map(|one| Arc::new(Job::new(one)))
            .collect();
        jobs.sort_by(|one, other| {
            let key = |job: &Job| (job.order.created, job.order.place);
            key(one).cmp(&key(other))
        });
        for name in ken_storage::names(&folder)? {
            if !name.ends_with(record::ENDING) && !jobs.iter().any(|job| job.order.id == name) {
                ken_storage::remove(&folder.join(name))?;
            }
        }
        let known = Known {
            waiting: jobs.iter().cloned().collect(),
            all: jobs.into(),
            ..Known::default()
        };
        known.tell_places();
        Ok(Self {
            folder,
            check: Known::check_room,
            known: Mutex::new(known),
            wake: Condvar::new(),
        })
    }

    /// Takes a job on only if none is open.
    pub(crate) fn one_at_a_time(self) -> Self {
        Self {
            check: Known::check_none_open,
            ..self
        }
    }

    /// The folder for what is sent with a job.
    pub(crate) fn sent(&self, id: &str) -> PathBuf {
        self.folder.join(id)
    }

    fn order(&self, id: &str) -> PathBuf {
        record::path(&self.folder, id)
    }

    /// Takes a job on.
    ///
    /// # Errors
    /// Too many that wait, or one that is open; a disk that takes no more.
    pub(crate) fn submit(
        &self,
        id: String,
        corpus: &str,
        work: Work,
        key: Option<&str>,
    ) -> Result<Arc<Job>, Refusal> {
        self.taken_on(self.check, |known| self.add(known, id, corpus, work, key))
    }

    /// Takes several jobs on, or none where too many wait: these may be more than wait otherwise.
    ///
    /// # Errors
    /// As [`Jobs::submit`]; jobs before the one that the disk does not take are taken on.
    pub(crate) fn submit_each(
        &self,
        corpus: &str,
        works: impl Iterator<Item = (String, Work)>,
        key: Option<&str>,
    ) -> Result<(), Refusal> {
        self.taken_on(Known::check_room, |known| {
            works
                .into_iter()
                .try_for_each(|(id, work)| self.add(known, id, corpus, work, key).map(drop))
        })
    }

    /// Adds jobs, and tells those that wait and the worker.
    fn taken_on<T>(
        &self,
        check: fn(&Known) -> Result<(), Refusal>,
        add: impl FnOnce(&mut Known) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let mut known = lock(&self.known);
        check(&known)?;
        let added = add(&mut known);
        known.tell_places();
        drop(known);
        self.wake.notify_all();
        added
    }

    fn add(
        &self,
        known: &mut Known,
        id: String,
        corpus: &str,
        work: Work,
        key: Option<&str>,
    ) -> Result<Arc<Job>, Refusal> {
        // Many are of the same second, and the clock may have been set back.
        let last = known.all.iter().map(|job| &job.order);
        let created = last.clone().map(|order| order.created).max();
        let place = last.map(|order| order.place).max();
        let job = Arc::new(Job::new(Order {
            id,
            corpus: corpus.to_owned(),
            created: unix_seconds().max(created.unwrap_or_default()),
            place: place.map_or(0, |place| place + 1),
            key: key.map(str::to_owned),
            work,
        }));
        record::write(&self.order(&job.order.id), &job.order)?;
        known.waiting.push_back(Arc::clone(&job));
        known.all.push_back(Arc::clone(&job));
        if known.all.len() > REMEMBERED {
            let over = known
                .all
                .iter()
                .position(|job| job.state().status.is_over());
            over.and_then(|place| known.all.remove(place));
        }
        Ok(job)
    }

    /// All that are remembered, newest first.
    pub(crate) fn all(&self) -> Vec<Arc<Job>> {
        lock(&self.known).all.iter().rev().cloned().collect()
    }

    /// One of them.
    pub(crate) fn find(&self, id: &str) -> Option<Arc<Job>> {
        let known = lock(&self.known);
        known.all.iter().find(|job| job.order.id == id).cloned()
    }

    /// Those of a corpus that are not over.
    pub(crate) fn open_of(&self, corpus: &str) -> Vec<Arc<Job>> {
        let known = lock(&self.known);
        let of = known.all.iter().filter(|job| job.order.corpus == corpus);
        of.filter(|job| !job.state().status.is_over())
            .cloned()
            .collect()
    }

    /// Cancels one. One that waits is over at once, one that runs soon.
    pub(crate) fn cancel(&self, job: &Job) {
        job.stop.store(true, Ordering::Relaxed);
        let mut known = lock(&self.known);
        let waits = known
            .waiting
            .iter()
            .position(|one| one.order.id == job.order.id);
        if let Some(place) = waits {
            known.waiting.remove(place);
            known.tell_places();
            drop(known);
            job.end(Status::Cancelled, None, None);
            // What stays is removed when the server starts again.
            let _ = self.forget(&job.order.id);
        }
    }

    /// The next one, for which it waits for a time.
    pub(crate) fn next(&self, within: Duration) -> Option<Arc<Job>> {
        let known = lock(&self.known);
        let waited = self
            .wake
            .wait_timeout_while(known, within, |known| known.waiting.is_empty());
        let (mut known, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let job = known.next()?;
        known.tell_places();
        known.running = 1;
        job.run();
        Some(job)
    }

    /// Tells that the one that ran is over.
    pub(crate) fn ended(&self) {
        lock(&self.known).running = 0;
    }

    /// How the one worker is.
    pub(crate) fn load(&self) -> Load {
        let known = lock(&self.known);
        Load {
            working: known.running,
            places: 1,
            waiting: known.waiting.len(),
            queue: Some(MOST_WAITING),
        }
    }

    /// Removes what is on disk of a job that is over.
    ///
    /// # Errors
    /// Files that cannot be removed.
    pub(crate) fn forget(&self, id: &str) -> Result<(), StorageError> {
        record::remove(&self.order(id), Some(&self.sent(id)))
    }
}

impl Known {
    /// Makes sure that another job may wait.
    fn check_room(&self) -> Result<(), Refusal> {
        if self.waiting.len() < MOST_WAITING {
            return Ok(());
        }
        let message = "too many changes of corpora wait already; try again later";
        let status = axum::http::StatusCode::TOO_MANY_REQUESTS;
        Err(Refusal::new(status, "too_many_jobs", message).retried_after(BUSY))
    }

    /// Makes sure that no job waits or runs.
    fn check_none_open(&self) -> Result<(), Refusal> {
        let mut open = self.all.iter().filter(|job| !job.state().status.is_over());
        let Some(open) = open.next() else {
            return Ok(());
        };
        let message = format!(
            "the job {:?} is not over, and one runs at a time: wait for it, or cancel it",
            open.order.id
        );
        Err(Refusal::conflict("job_running", message))
    }

    /// Takes the first job of the key whose turn it is: the one that was served the longest ago.
    fn next(&mut self) -> Option<Arc<Job>> {
        let served = |job: &Arc<Job>| self.begun.iter().position(|key| *key == job.order.key);
        let turns = self.waiting.iter().enumerate();
        // Of several, the first; a key that was never served goes before all others.
        let (place, _) = turns.min_by_key(|(_, job)| served(job))?;
        let job = self.waiting.remove(place)?;
        self.begun.retain(|key| *key != job.order.key);
        self.begun.push(job.order.key.clone());
        Some(job)
    }

    /// Tells all that wait in how many jobs it is their turn.
    fn tell_places(&self) {
        let mut line = Self {
            waiting: self.waiting.clone(),
            begun: self.begun.clone(),
            ..Self::default()
        };
        let turns = std::iter::from_fn(move || line.next());
        for (place, job) in turns.enumerate() {
            job.waits(place + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_of_one_second_are_found_again_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Jobs::open(folder.path().to_owned()).unwrap();
        let names: Vec<String> = [5, 2, 9, 1, 7, 3].map(|name| format!("job_{name}")).into();
        let (one, more) = names.split_at(3);
        for names in [one, more] {
            let jobs = open();
            for name in names {
                jobs.submit(name.clone(), "notes", Work::Ingest, None)
                    .unwrap();
            }
        }
        let again = open();
        let found = std::iter::from_fn(|| again.next(Duration::ZERO));
        let found: Vec<String> = found.map(|job| job.order.id.clone()).collect();
        assert_eq!(found, names);
    }

    #[test]
    fn keys_take_turns_and_each_keeps_its_order() {
        let folder = tempfile::tempdir().unwrap();
        let jobs = Jobs::open(folder.path().to_owned()).unwrap();
        let submit = |id: &str, key: Option<&str>| {
            jobs.submit(id.to_owned(), "notes", Work::Ingest, key)
                .unwrap()
        };
        for number in 0..4 {
            submit(&format!("a{number}"), Some("a"));
        }
        let next = || jobs.next(Duration::ZERO).unwrap().order.id.clone();
        assert_eq!(next(), "a0");
        let late = submit("b0", Some("b"));
        submit("b1", Some("b"));
        let anonymous = submit("n0", None);
        let last = jobs.find("a3").unwrap();
        let place = |job: &Arc<Job>| job.state().place;
        assert_eq!([&late, &anonymous, &last].map(place), [1, 2, 6].map(Some));
        let load = jobs.load();
        assert_eq!((load.working, load.waiting), (1, 6));
        jobs.ended();
        let order: Vec<String> = (0..6).map(|_| next()).collect();
        assert_eq!(order, ["b0", "n0", "a1", "b1", "a2", "a3"]);
        assert_eq!((place(&last), jobs.load().waiting), (None, 0));
    }

    #[test]
    fn jobs_that_are_not_over_are_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Jobs::open(folder.path().to_owned()).unwrap();
        let jobs = open();
        let (one, other) = ("job_1".to_owned(), "job_2".to_owned());
        jobs.submit(one, "notes", Work::Rollback { generation: 3 }, None)
            .unwrap();
        jobs.submit(other, "notes", Work::Ingest, None).unwrap();
        for stray in ["job_3", "job_2"] {
            ken_storage::create_dir_all(&jobs.sent(stray)).unwrap();
        }
        let again = open();
        let names = |jobs: &Jobs| -> Vec<String> {
            let all = jobs.all();
            all.iter().map(|job| job.order.id.clone()).collect()
        };
        assert_eq!(names(&again), ["job_2", "job_1"]);
        assert!(!again.sent("job_3").exists() && again.sent("job_2").exists());
        let first = again.next(Duration::ZERO).unwrap();
        assert_eq!(first.order.work, Work::Rollback { generation: 3 });
        first.end(Status::Done, Some(4), None);
        again.forget("job_1").unwrap();
        let second = again.find("job_2").unwrap();
        assert_eq!(again.open_of("notes").len(), 1);
        again.cancel(&second);
        assert_eq!(second.state().status, Status::Cancelled);
        assert!(again.next(Duration::ZERO).is_none() && again.open_of("notes").is_empty());
        assert!(names(&open()).is_empty() && !again.sent("job_2").exists());
    }
}
