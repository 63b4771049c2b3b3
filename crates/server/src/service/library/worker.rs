//! Doing the jobs, on a thread of its own: whoever asks meanwhile reads the generation before.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ken_corpus::{Corpus, CorpusError, Writer};
use ken_diagnostic::Diagnostic;
use ken_setup::CorpusAddress;
use serde_json::{Map, Value};
use tokio::runtime::Handle;

use super::Library;
use super::evaluation::{Evaluation, QUESTIONS};
use super::intake::{Destination, ReadFiles, Taken};
use super::job::{FailedFile, Job, JobError, Status, Work};
use super::jobs::Jobs;
use super::measurer::Measurement;
use super::measuring;
use super::stores::Membership;
use super::tool_error::ToolError;
use crate::log::Entry;
use crate::service::answers::milliseconds;
use crate::service::corpora::Opened;
use crate::service::live::Live;
use crate::service::record::RecordError;
use crate::service::resources::Served;
use crate::wire::refusal::Refusal;

/// How often it is looked whether the server ends.
const LOOK: Duration = Duration::from_millis(50);

/// Does jobs of one kind, the changes or the measurements, until the server is over. One that is broken off by that is
/// begun anew by the next server.
pub(crate) fn work(
    live: &Live,
    library: &Library,
    jobs: &Jobs,
    runtime: &Handle,
    over: &AtomicBool,
) {
    while !over.load(Ordering::Relaxed) {
        let Some(job) = jobs.next(LOOK) else {
            continue;
        };
        let begun = Instant::now();
        let running = Running {
            live,
            library,
            job: &job,
            sent: &jobs.sent(&job.order.id),
            runtime,
            over,
        };
        let served = &running.served();
        let result = ken_storage::contained(|| running.run());
        let result = result.unwrap_or_else(|panic| Err(Trouble::Own("panicked", panic)));
        let goes_on_later = running.is_broken_off() && result.is_err();
        if !goes_on_later && let Err(error) = jobs.forget(&job.order.id) {
            tell(served, &job, begun, Some(error.to_string()));
        }
        let (status, generation, error) = match &result {
            Ok(generation) => (Status::Done, *generation, None),
            Err(_) if job.is_cancelled() => (Status::Cancelled, running.generation(), None),
            Err(trouble) => (Status::Failed, running.generation(), Some(trouble.shown())),
        };
        jobs.ended();
        job.end(status, generation, error);
        let detail = match (&result, status) {
            (Err(Trouble::Own(_, detail)), Status::Failed) => Some(detail.clone()),
            _ => None,
        };
        tell(served, &job, begun, detail);
    }
}

fn tell(served: &Served, job: &Job, begun: Instant, detail: Option<String>) {
    let state = job.state();
    let kind = job.order.work.kind();
    served.metrics.job(kind, state.status.name());
    (served.log)(&Entry::Job {
        id: job.order.id.clone(),
        kind,
        corpus: job.order.corpus.clone(),
        status: state.status.name(),
        generation: state.generation,
        code: state.error.map(|error| error.code),
        detail,
        ms: milliseconds(begun.elapsed()),
    });
}

/// Why a job failed.
enum Trouble {
    /// What the client sent or asked for.
    Theirs(JobError),
    /// The server's own, of this kind. A client is not told more: it may name paths.
    Own(&'static str, String),
}

impl Trouble {
    fn shown(&self) -> JobError {
        match self {
            Self::Theirs(error) => error.clone(),
            Self::Own("disk_full", _) => Refusal::disk_full().into(),
            Self::Own(..) => JobError {
                code: "server_error",
                message: "the server could not do this; its log says why".to_owned(),
                hint: None,
            },
        }
    }

    fn own(error: &dyn Diagnostic) -> Self {
        Self::Own(error.kind(), error.to_string())
    }

    fn theirs(code: &'static str, message: impl Into<String>) -> Self {
        Self::Theirs(JobError {
            code,
            message: message.into(),
            hint: None,
        })
    }
}

impl From<RecordError> for Trouble {
    fn from(error: RecordError) -> Self {
        Self::own(&error)
    }
}

impl From<Refusal> for Trouble {
    fn from(refusal: Refusal) -> Self {
        Self::Theirs(refusal.into())
    }
}

impl From<CorpusError> for Trouble {
    fn from(error: CorpusError) -> Self {
        match &error {
            CorpusError::UnknownDocument { .. }
            | CorpusError::UnknownPassage { .. }
            | CorpusError::NothingPruned { .. } => Self::theirs(error.kind(), error.to_string()),
            CorpusError::UnknownGeneration { number, kept, .. } => {
                let kept: Vec<String> = kept.iter().map(u64::to_string).collect();
                let message = format!(
                    "generation {number} is not kept; those that are: {}",
                    kept.join(", ")
                );
                Self::theirs(error.kind(), message)
            }
            CorpusError::Locked { .. } => {
                let message = "another process is writing to the corpus";
                Self::theirs(error.kind(), message)
            }
            CorpusError::NotACorpus { .. } => Self::theirs("empty_corpus", "the corpus is empty"),
            _ => Self::own(&error),
        }
    }
}

/// All files below a folder and their lengths in bytes, as far as it can be read.
fn files_below(folder: &Path) -> Vec<(PathBuf, u64)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.flat_map(|entry| match entry.metadata() {
        Ok(kind) if kind.is_dir() => files_below(&entry.path()),
        Ok(kind) if kind.is_file() => vec![(entry.path(), kind.len())],
        _ => Vec::new(),
    });
    files.collect()
}

/// Why a job fails that takes in no file of its upload.
fn none_taken(failed: &[FailedFile]) -> Trouble {
    match failed {
        [only] => Trouble::Theirs(only.error.clone()),
        _ => {
            let message = format!(
                "none of the {} files can be taken in; `failed` says why",
                failed.len()
            );
            Trouble::theirs("all_files_failed", message)
        }
    }
}

struct Running<'a> {
    live: &'a Live,
    library: &'a Library,
    job: &'a Job,
    /// The folder of what was sent with it.
    sent: &'a Path,
    runtime: &'a Handle,
    over: &'a AtomicBool,
}

impl Running<'_> {
    /// What is served at the moment.
    fn served(&self) -> Arc<Served> {
        Arc::clone(&self.live.now().served)
    }

    fn corpus(&self) -> &str {
        &self.job.order.corpus
    }

    /// Whether it is stopped because the server ends.
    fn is_broken_off(&self) -> bool {
        self.over.load(Ordering::Relaxed) && self.job.is_cancelled()
    }

    /// The generation that is served.
    fn generation(&self) -> Option<u64> {
        let found = self.served().corpora.find(Some(self.corpus()), None);
        Some(found.ok()??.state().generation)
    }

    /// Returns the generation from which the change holds, once that is searched.
    fn run(&self) -> Result<Option<u64>, Trouble> {
        if let Some(evaluation) = self.job.order.work.evaluation() {
            return self.measure(evaluation);
        }
        self.library.stores.check(self.corpus())?;
        let place = self.library.place(&self.served().corpora, self.corpus())?;
        let changed = match &self.job.order.work {
            Work::Ingest => self.take(self.sent, &place),
            Work::Attach { file } => self.attach(file, &place),
            Work::Describe { file, attributes } => self.describe(file, attributes, &place),
            Work::Detach { file } => self.detach(file, &place),
            Work::Delete { documents } => Ok(Writer::open(&place)?.delete(documents).map(drop)?),
            Work::Rollback { generation } => Ok(Writer::rollback(&place, *generation).map(drop)?),
            Work::Prune(prune) => Ok(prune.run(&place)?),
            Work::Restore(restore) => Ok(restore.run(&place)?),
            Work::Drop => {
                let _alone = self.live.publishing();
                self.served().corpora.remove(self.corpus());
                self.library.stores.remove(self.corpus())?;
                return Ok(None);
            }
            // They change nothing.
            Work::Tune(_) | Work::Compare(_) => Ok(()),
        };
        // What was published before an error holds as well.
        if Corpus::exists(&place) {
            self.serve(&place)?;
        }
        changed?;
        Ok(self.generation())
    }

    /// Measures policies; returns the generation on which.
    fn measure(&self, evaluation: &Evaluation) -> Result<Option<u64>, Trouble> {
        let now = self.live.now();
        let served = &now.served;
        let Some(setup) = now.setup() else {
            return Err(Trouble::theirs(
                "no_settings",
                "this server has no settings to measure by",
            ));
        };
        let pipeline = measuring::pipeline(served, self.corpus())?;
        let generation = pipeline.retriever().map(|one| one.back_end().generation());
        let folder = served.studies()?.folder().join(&evaluation.study);
        let work = Measurement {
            questions: &self.sent.join(QUESTIONS),
            name: &evaluation.name,
            purpose: &evaluation.purpose()?,
            pipeline,
            folder: &folder,
            settings: setup.settings,
        };
        let measurer = self.library.tools.measurer.as_ref();
        let chosen = measuring::run(measurer, work, self.job, &served.answers, self.runtime);
        let chosen = chosen.map_err(|error| self.refused(&folder)(error.without(self.sent)));
        if let Some(policy) = chosen? {
            self.job.chose(policy.to_string());
        }
        Ok(generation)
    }

    /// Has the newest generation searched from now on.
    fn serve(&self, place: &Path) -> Result<(), Trouble> {
        let _alone = self.live.publishing();
        let now = self.live.now();
        let (Some(setup), corpora) = (now.setup(), &now.served.corpora) else {
            return Ok(());
        };
        let renewed = match corpora.find(Some(self.corpus()), None) {
            Ok(Some(_)) => corpora.renew(&setup, self.corpus()),
            _ => {
                let address = CorpusAddress::Folder(place.to_owned());
                let embedder = self.library.embedder.clone();
                let model = &now.served.pipeline.model;
                let opened = setup.retriever_by(&address, embedder, model);
                opened.map(|retriever| {
                    Some(corpora.insert(Opened {
                        name: self.corpus().to_owned(),
                        retriever,
                        address: Some(address),
                    }))
                })
            }
        };
        if let Some(state) = renewed.map_err(|error| Trouble::own(&error))? {
            now.served.renewed(state);
        }
        Ok(())
    }

    fn refused(&self, folder: &Path) -> impl Fn(ToolError) -> Trouble {
        let folder = folder.to_owned();
        move |error| match error.kind {
            // Kinds of the server's own troubles: the disk, the embedder.
            "io" | "disk_full" | "corpus_damaged" | "corpus_file_missing" | "bad_embeddings" => {
                Trouble::Own(error.kind, error.message)
            }
            kind if kind.starts_with("endpoint_") => Trouble::Own(error.kind, error.message),
            "context_exceeded" => {
                let message = "a passage is too long for the embedder; cut documents smaller";
                Trouble::theirs("context_length_exceeded", message)
            }
            _ => Trouble::Theirs(error.without(&folder).into()),
        }
    }

    /// The files in a folder, each of which is read. How much there is to read is told at once.
    fn files(&self, folder: &Path) -> Result<ReadFiles, Trouble> {
        let lengths = files_below(folder).into_iter().map(|(_, bytes)| bytes);
        self.job.progress(Taken {
            bytes_total: lengths.sum(),
            ..Taken::default()
        });
        let files = self.library.tools.intake.documents(folder, &self.job.stop);
        files.map_err(self.refused(folder))
    }

    /// The documents in the folder of a file, all of which can be read.
    fn documents(&self, folder: &Path) -> Result<Vec<String>, Trouble> {
        let files = self.files(folder)?.into_values();
        let documents: Result<Vec<Vec<String>>, ToolError> = files.collect();
        Ok(documents.map_err(self.refused(folder))?.concat())
    }

    /// Takes in the files that can be read to their ends. Of the others nothing is published, and the job says why.
    fn take(&self, folder: &Path, place: &Path) -> Result<(), Trouble> {
        let mut files = self.files(folder)?;
        let intake = &self.library.tools.intake;
        for (path, _) in files_below(folder) {
            let file = files.entry(path);
            file.or_insert_with_key(|path| intake.recognize(path).map(|()| Vec::new()));
        }
        let (mut taken, mut left_out, mut failed) = (Vec::new(), Vec::new(), Vec::new());
        for (path, documents) in files {
            let documents = documents.map_err(self.refused(folder));
            match documents.and_then(|documents| self.admitted(documents)) {
                Ok(documents) => taken.extend(documents),
                Err(Trouble::Theirs(error)) => {
                    let name = path.strip_prefix(folder).unwrap_or(&path);
                    let file = name.display().to_string();
                    failed.push(FailedFile { file, error });
                    left_out.push(path);
                }
                Err(own) => return Err(own),
            }
        }
        self.job.leaves_out(failed.clone());
        if taken.is_empty() {
            return Err(none_taken(&failed));
        }
        self.embed(folder, &left_out, &Map::new(), place)?;
        Ok(self.library.stores.disown(self.corpus(), &taken)?)
    }

    /// The documents of a file, which has some, and none of which passes for one of another file.
    fn admitted(&self, documents: Vec<String>) -> Result<Vec<String>, Trouble> {
        if documents.is_empty() {
            let message = "there are no documents in it";
            return Err(Trouble::theirs("no_documents", message));
        }
        self.library.check_ids(self.corpus(), &documents, None)?;
        Ok(documents)
    }

    fn embed(
        &self,
        folder: &Path,
        left_out: &[PathBuf],
        metadata: &Map<String, Value>,
        place: &Path,
    ) -> Result<(), Trouble> {
        let opened = self.served().corpora.find(Some(self.corpus()), None);
        let opened = opened.ok().flatten();
        let own = opened.as_ref().map(|opened| &opened.retriever);
        let into = Destination {
            corpus: place,
            embedder: own.map_or(self.library.embedder.as_ref(), |own| own.embedder()),
            reference: own.map_or(self.library.reference.as_str(), |own| {
                own.back_end().embedder().reference.as_str()
            }),
            metadata,
        };
        let mut progress = |taken| self.job.progress(taken);
        let (intake, stop) = (&self.library.tools.intake, &self.job.stop);
        let taken = intake.take(folder, left_out, into, &mut progress, stop);
        self.job.progress(taken.map_err(self.refused(folder))?);
        match self.job.is_cancelled() {
            true => Err(Trouble::theirs("cancelled", "it was cancelled")),
            false => Ok(()),
        }
    }

    fn attach(&self, file: &str, place: &Path) -> Result<(), Trouble> {
        let stores = &self.library.stores;
        let Some(mut member) = stores.file(self.corpus(), file)? else {
            return Err(Trouble::theirs("unknown_file", "the file was taken out"));
        };
        let folder = self.library.files.root(file);
        let taken = self.documents(&folder).and_then(|documents| {
            self.library
                .check_ids(self.corpus(), &documents, Some(file))?;
            // Before any is published, so that each can be taken out again.
            member.documents = documents;
            stores.note(self.corpus(), &member)?;
            self.embed(&folder, &[], &member.attributes, place)
        });
        if taken.is_err() && self.is_broken_off() {
            return taken;
        }
        (member.status, member.error) = match &taken {
            Ok(()) => (Membership::Completed, None),
            Err(_) if self.job.is_cancelled() => (Membership::Cancelled, None),
            Err(trouble) => {
                let error = trouble.shown();
                let hint = error.hint.map(|hint| format!("; {hint}"));
                let message = error.message + &hint.unwrap_or_default();
                (Membership::Failed, Some((error.code.to_owned(), message)))
            }
        };
        // `completed` means searchable.
        if taken.is_ok() {
            self.serve(place)?;
        }
        stores.note(self.corpus(), &member)?;
        taken
    }

    /// A file that is not in the corpus yet gets the attributes when it is.
    fn describe(
        &self,
        file: &str,
        attributes: &Map<String, Value>,
        place: &Path,
    ) -> Result<(), Trouble> {
        let stores = &self.library.stores;
        let Some(mut member) = stores.file(self.corpus(), file)? else {
            return Err(Trouble::theirs("unknown_file", "the file was taken out"));
        };
        if member.status == Membership::Completed {
            let folder = self.library.files.root(file);
            let documents = self.documents(&folder)?;
            if documents.iter().any(|id| !member.documents.contains(id)) {
                let message = "other documents have taken the places of some of the file: take the file \
                               out, and put it in again";
                return Err(Trouble::theirs("documents_replaced", message));
            }
            self.embed(&folder, &[], attributes, place)?;
            self.serve(place)?;
        }
        member.attributes.clone_from(attributes);
        Ok(stores.note(self.corpus(), &member)?)
    }

    fn detach(&self, file: &str, place: &Path) -> Result<(), Trouble> {
        let stores = &self.library.stores;
        let Some(member) = stores.file(self.corpus(), file)? else {
            return Ok(());
        };
        let own = stores.own_documents(self.corpus(), &member)?;
        if Corpus::exists(place) {
            let mut writer = Writer::open(place)?;
            let known = writer.known();
            let mut there = Vec::new();
            for id in own {
                if known.published(&id)?.is_some() {
                    there.push(id);
                }
            }
            if !there.is_empty() {
                writer.delete(&there)?;
            }
        }
        Ok(stores.forget(self.corpus(), file)?)
    }
}
