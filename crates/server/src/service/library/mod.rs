//! What clients put into the server and take out again: files, corpora, and the jobs that change these.
//! All of it is in one folder, and a server that was killed goes on where it was.

pub(crate) mod batches;
pub(crate) mod evaluation;
pub(crate) mod files;
pub(crate) mod intake;
pub(crate) mod job;
pub(crate) mod jobs;
pub(crate) mod measurer;
pub(crate) mod measuring;
pub(crate) mod pruning;
pub(crate) mod stores;
pub(crate) mod tool_error;
pub(crate) mod worker;

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use axum::http::StatusCode;
use ken_corpus::Corpus;
use ken_language::Embedder;
use ken_setup::CorpusAddress;
use rand::Rng;
use serde_json::{Map, Value};

use self::files::{FileRecord, Files};
use self::intake::Intake;
use self::job::{Job, Status, Work};
use self::jobs::Jobs;
use self::measurer::Measurer;
use self::stores::{MadeCorpus, Membership, StoreFile, Stores, is_name};
use super::clock::unix_seconds;
use super::corpora::{self, Corpora, Opened};
use super::record::RecordError;
use crate::lock::lock;
use crate::wire::refusal::Refusal;

/// What the server keeps for its clients.
pub struct Library {
    pub(crate) files: Files,
    pub(crate) stores: Stores,
    /// Changes of corpora.
    pub(crate) jobs: Jobs,
    /// What is measured on them, which keeps no change waiting.
    pub(crate) measurements: Jobs,
    pub(crate) tools: Tools,
    /// Embeds what is put into new corpora.
    pub(crate) embedder: Arc<dyn Embedder>,
    /// Its name.
    pub(crate) reference: String,
    /// Held from the look whether a name, or a file's place in a corpus, is free until it is taken.
    taking: Mutex<()>,
}

/// What does for a server what that does not link.
#[derive(Clone)]
pub struct Tools {
    /// Takes documents in.
    pub intake: Arc<dyn Intake>,
    /// Measures policies.
    pub measurer: Arc<dyn Measurer>,
}

/// A file that is to be put into a corpus.
pub(crate) struct Attached {
    pub(crate) record: FileRecord,
    /// What its documents' metadata is to say besides their own.
    pub(crate) attributes: Map<String, Value>,
}

/// What stands for a file where a document came by none: its id, unless that could be a file's, and its title.
pub(crate) fn unfiled(doc_id: &str, title: String) -> (String, String) {
    let id = match files::is_id(doc_id) {
        true => format!("document/{doc_id}"),
        false => doc_id.to_owned(),
    };
    (id, title)
}

/// A new id: what it begins with, and 24 random letters and digits.
pub(crate) fn new_id(start: &str) -> String {
    let random = rand::rng().random::<[u64; 2]>();
    format!("{start}{:012x}{:012x}", random[0] >> 16, random[1] >> 16)
}

/// The corpora in the folder of a server that clients made and put something into, except those whose names
/// are taken: where they are, by name.
///
/// # Errors
/// A record that cannot be read.
pub(crate) fn made(
    folder: &Path,
    taken: &[Opened],
) -> Result<Vec<(String, CorpusAddress)>, RecordError> {
    let stores = Stores::in_folder(folder);
    let made = stores.made()?.into_iter();
    let others = made.filter(|made| !taken.iter().any(|one| one.name == made.name));
    let places = others.map(|made| (stores.corpus(&made.name), made.name));
    let full = places.filter(|(place, _)| Corpus::exists(place));
    Ok(full
        .map(|(place, name)| (name, CorpusAddress::Folder(place)))
        .collect())
}

impl Library {
    /// Opens the folder, which is made where it is not there. `embedder` is for new corpora, under its
    /// name.
    ///
    /// # Errors
    /// A folder that cannot be read or written.
    pub fn open(
        folder: &Path,
        tools: Tools,
        embedder: Arc<dyn Embedder>,
        reference: String,
    ) -> Result<Self, RecordError> {
        Ok(Self {
            files: Files::open(folder.join("files"))?,
            stores: Stores::open(folder)?,
            jobs: Jobs::open(folder.join("jobs"))?,
            measurements: Jobs::open(folder.join("measurements"))?.one_at_a_time(),
            tools,
            embedder,
            reference,
            taking: Mutex::default(),
        })
    }

    /// Looks at the names of what was uploaded.
    ///
    /// # Errors
    /// Formats that are not read.
    pub(crate) fn recognize(&self, folder: &Path) -> Result<(), Refusal> {
        self.tools.intake.recognize(folder).map_err(|error| {
            let error = error.without(folder);
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            Refusal::new(status, "unsupported_format", error.message).of("file")
        })
    }

    /// Where a corpus is.
    ///
    /// # Errors
    /// A corpus that is not there, or not in a folder of this machine.
    pub(crate) fn place(&self, corpora: &Corpora, name: &str) -> Result<PathBuf, Refusal> {
        match corpora.find(Some(name), None) {
            Ok(Some(opened)) => match &opened.address {
                Some(CorpusAddress::Folder(path)) => Ok(path.clone()),
                _ => {
                    let message = format!("the corpus {name:?} cannot be changed here");
                    Err(Refusal::bad("corpus_elsewhere", message).of("corpus"))
                }
            },
            unknown => match self.stores.find(name)? {
                Some(_) => Ok(self.stores.corpus(name)),
                None => Err(unknown.err().unwrap_or_else(|| corpora::unknown(name))),
            },
        }
    }

    /// Whether a client made a corpus of this name, and nothing was put into it yet.
    ///
    /// # Errors
    /// A record that cannot be read.
    pub(crate) fn is_empty(&self, corpora: &Corpora, name: &str) -> Result<bool, Refusal> {
        if corpora.all().iter().any(|opened| opened.name == name) {
            return Ok(false);
        }
        Ok(self.stores.find(name)?.is_some())
    }

    /// Makes a corpus, which is searched when something is put into it.
    ///
    /// # Errors
    /// A name that is taken, or that cannot be one.
    pub(crate) fn make(&self, corpora: &Corpora, made: &MadeCorpus) -> Result<(), Refusal> {
        if !is_name(&made.name) {
            let message = "a name has up to 64 letters, digits, `-` and `_`, and begins with none of these signs";
            return Err(Refusal::invalid("name", message));
        }
        let _taking = lock(&self.taking);
        if self.place(corpora, &made.name).is_ok()
            || corpora.all().iter().any(|one| one.name == made.name)
        {
            let message = format!("there is a corpus {:?} already", made.name);
            return Err(Refusal::conflict("corpus_exists", message).of("name"));
        }
        Ok(self.stores.make(made)?)
    }

    /// Puts a file into a corpus.
    ///
    /// # Errors
    /// A file that is in it already; too many jobs.
    pub(crate) fn attach(
        &self,
        corpora: &Corpora,
        corpus: &str,
        file: &Attached,
        key: Option<&str>,
    ) -> Result<StoreFile, Refusal> {
        self.place(corpora, corpus)?;
        let _taking = lock(&self.taking);
        let before = self.stores.file(corpus, &file.record.id)?;
        if before.as_ref().is_some_and(StoreFile::is_there) {
            let message = format!("the file {:?} is in the corpus already", file.record.id);
            return Err(Refusal::conflict("file_exists", message).of("file_id"));
        }
        let member = self.begin(corpus, file, before)?;
        let file = member.file.clone();
        let submitted = self.submit(corpus, Work::Attach { file }, key);
        if submitted.is_err() {
            self.stores.forget(corpus, &member.file)?;
        }
        submitted.map(|_| member)
    }

    /// Puts files into a corpus. Of those that are in it already, the attributes change.
    ///
    /// # Errors
    /// Too many jobs; a disk that takes no more.
    pub(crate) fn attach_each(
        &self,
        corpus: &str,
        files: Vec<Attached>,
        key: Option<&str>,
    ) -> Result<(), Refusal> {
        let _taking = lock(&self.taking);
        let (mut works, mut begun) = (Vec::new(), Vec::new());
        for file in files {
            let id = file.record.id.clone();
            match self.stores.file(corpus, &id)? {
                Some(member) if member.is_there() => {
                    if member.attributes != file.attributes {
                        let (file, attributes) = (id, file.attributes);
                        works.push(Work::Describe { file, attributes });
                    }
                }
                before => {
                    begun.push(self.begin(corpus, &file, before)?.file);
                    works.push(Work::Attach { file: id });
                }
            }
        }
        let works = works.into_iter().map(|work| (new_id("job_"), work));
        let submitted = self.jobs.submit_each(corpus, works, key);
        if submitted.is_err() {
            let open = self.jobs.open_of(corpus);
            let waits = |id: &String| {
                let attaches = |job: &Arc<Job>| job.order.work.attaches(id);
                open.iter().any(attaches)
            };
            for file in begun.iter().filter(|file| !waits(file)) {
                self.stores.forget(corpus, file)?;
            }
        }
        submitted
    }

    /// Notes that a file is being put into a corpus.
    fn begin(
        &self,
        corpus: &str,
        file: &Attached,
        before: Option<StoreFile>,
    ) -> Result<StoreFile, RecordError> {
        let member = StoreFile {
            file: file.record.id.clone(),
            filename: file.record.filename.clone(),
            bytes: file.record.bytes,
            created: unix_seconds(),
            status: Membership::InProgress,
            error: None,
            // Those of an attempt that failed are still to be taken out with it.
            documents: before.map(|before| before.documents).unwrap_or_default(),
            attributes: file.attributes.clone(),
        };
        self.stores.note(corpus, &member)?;
        Ok(member)
    }

    /// The id and the name of the file that a document came by; of one that came by none, its own id and its title.
    pub(crate) fn named(&self, corpus: &str, doc_id: &str, title: String) -> (String, String) {
        // What cannot be read is none, as in every list of files.
        match self.stores.origin(corpus, doc_id) {
            Ok(Some(origin)) => origin,
            _ => unfiled(doc_id, title),
        }
    }

    /// Makes sure that documents do not pass for those of a file that is known, other than `own`, by which they come.
    ///
    /// # Errors
    /// The first that does; a record that cannot be read.
    pub(crate) fn check_ids(
        &self,
        corpus: &str,
        documents: &[String],
        own: Option<&str>,
    ) -> Result<(), Refusal> {
        for id in documents {
            let Some(file) = files::claimed(id).filter(|file| Some(*file) != own) else {
                continue;
            };
            if self.files.find(file)?.is_some() || self.stores.file(corpus, file)?.is_some() {
                let message =
                    format!("the id {id:?} is one of the file {file:?}: give the record another");
                return Err(Refusal::bad("forged_id", message));
            }
        }
        Ok(())
    }

    /// Takes a change on, by the id of the key that asks for it.
    ///
    /// # Errors
    /// Too many jobs.
    pub(crate) fn submit(
        &self,
        corpus: &str,
        work: Work,
        key: Option<&str>,
    ) -> Result<Arc<Job>, Refusal> {
        self.jobs.submit(new_id("job_"), corpus, work, key)
    }

    /// All jobs that are remembered, newest first.
    pub(crate) fn all_jobs(&self) -> Vec<Arc<Job>> {
        let mut all = [self.measurements.all(), self.jobs.all()].concat();
        all.sort_by_key(|job| std::cmp::Reverse(job.order.created));
        all
    }

    /// One of them.
    pub(crate) fn job(&self, id: &str) -> Option<Arc<Job>> {
        self.jobs.find(id).or_else(|| self.measurements.find(id))
    }

    /// Cancels a job.
    ///
    /// # Errors
    /// A record that cannot be written.
    pub(crate) fn cancel(&self, job: &Job) -> Result<(), RecordError> {
        match job.order.work.evaluation() {
            Some(_) => self.measurements.cancel(job),
            None => self.jobs.cancel(job),
        }
        let never_began = job.state().status == Status::Cancelled;
        if let (true, Work::Attach { file }) = (never_began, &job.order.work)
            && let Some(mut member) = self.stores.file(&job.order.corpus, file)?
        {
            member.status = Membership::Cancelled;
            self.stores.note(&job.order.corpus, &member)?;
        }
        Ok(())
    }

    /// Cancels jobs that put a file into a corpus.
    ///
    /// # Errors
    /// As [`Library::cancel`].
    pub(crate) fn cancel_attaching(&self, corpus: &str, file: &str) -> Result<(), RecordError> {
        let mut open = self.jobs.open_of(corpus).into_iter();
        open.try_for_each(|job| match job.order.work.attaches(file) {
            true => self.cancel(&job),
            false => Ok(()),
        })
    }

    /// Has whatever runs stop: the server ends.
    pub(crate) fn halt(&self) {
        for job in self.all_jobs() {
            if job.state().status == Status::Running {
                job.stop.store(true, Ordering::Relaxed);
            }
        }
    }
}
