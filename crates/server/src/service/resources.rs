//! What is served: the pipeline, the corpora, and how much of it at once.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, RwLock};

use ken_answer::datastore::SELF;
use ken_answer::{AnswerError, Datastore, Pipeline, Policy, Rerank, Retriever, prompt};
use ken_corpus::Segmentation;
use ken_language::LanguageModel;
use ken_policy::Guarantee;
use ken_setup::{Setup, SetupError};

use super::clock::unix_seconds;
use super::corpora::{Corpora, Opened};
use super::corrections::Corrections;
use super::data_folder::DataFolder;
use super::evals::Evals;
use super::gate::{Gate, Load};
use super::gateway::estimated_tokens;
use super::judge::Judge;
use super::library::{self, Library, Tools};
use super::policies;
use super::record::RecordError;
use super::responses::{self, Responses};
use super::setup::{Limits, OpenError, Opening, SetReranking};
use super::studies::Studies;
use super::traces::{TraceEvent, Traces};
use super::upstream::Upstream;
use super::watch::{NotGuaranteed, Now, Standing, Watch};
use crate::access::caller::Caller;
use crate::lock::{read, write};
use crate::log::{Entry, Log};
use crate::metrics::Metrics;
use crate::spans::{Destination, Spans, SpansError};
use crate::wire::body;
use crate::wire::ken::CorpusState;
use crate::wire::refusal::Refusal;

/// The default number of passages to rerank, if no settings say.
const DEPTH: usize = 10;

/// The file of a watched guarantee's state, in the folder of the server.
const WATCHED: &str = "watch.json";

/// The folder of traces in it.
const TRACES: &str = "traces";

/// The folder of corrections in it.
const CORRECTIONS: &str = "corrections";

/// The folder of questions to evaluate on in it.
const EVALS: &str = "evals";

/// Everything that requests share.
pub struct Served {
    pub(crate) pipeline: Pipeline,
    pub(crate) corpora: Corpora,
    pub(crate) reranking: SetReranking,
    pub(crate) limits: Limits,
    /// For what a language model answers.
    pub(crate) answers: Arc<Gate>,
    /// The model's name.
    pub(crate) model: String,
    /// For searches.
    pub(crate) searches: Arc<Gate>,
    /// For embeddings.
    pub(crate) embeddings: Arc<Gate>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) log: Log,
    /// What clients put in, if they may.
    pub(crate) library: Option<Arc<Library>>,
    /// The guarantee of the policy, if there is one.
    pub(crate) watch: Option<Arc<Watch>>,
    /// The model that judges drawn questions, if there is one.
    pub(crate) judge: Option<Arc<Judge>>,
    /// How the last questions were answered.
    pub(crate) traces: Arc<Traces>,
    /// Questions to evaluate on.
    pub(crate) evals: Arc<Evals>,
    /// Responses that clients may continue, if there is a folder for them.
    pub(crate) responses: Option<Arc<Responses>>,
    /// For a collector, if there is one.
    pub(crate) spans: Option<Arc<Spans>>,
    /// Which sources were right.
    pub(crate) corrections: Arc<Corrections>,
    /// The pipeline's datastore with the corrections since.
    pub(crate) corrected: RwLock<Option<Arc<Datastore>>>,
    /// The studies to show, if there is a folder of them.
    pub(crate) studies: Option<Studies>,
    /// The folder of the server's data, while it is this server's.
    data: Option<Arc<DataFolder>>,
    /// Whether the model's own server is there, if it has one.
    pub(crate) upstream: Upstream,
    /// Raised when all work is to end.
    pub(crate) halted: Arc<AtomicBool>,
    /// In seconds since 1970 (UTC).
    pub(crate) started: u64,
}

impl Served {
    /// Opens what the settings name: the model, the corpora, and whatever policies can decide by; with a folder for
    /// what clients put in, the corpora in that, too. `tools` read documents and measure; without them, nothing is
    /// put into the folder, which may be another server's.
    ///
    /// # Errors
    /// A policy that cannot choose; models, corpora or files that cannot be used; a folder that another
    /// server has.
    pub fn open(setup: &Setup<'_>, tools: Option<Tools>, log: Log) -> Result<Self, OpenError> {
        let settings = setup.settings;
        let data = match (&settings.server_data, &tools) {
            (Some(folder), Some(_)) => Some(DataFolder::take(folder)?),
            _ => None,
        };
        let opening = Opening::of(setup, None)?;
        let Opening {
            pipeline,
            corpora,
            limits,
            ..
        } = opening;
        let library = match (tools, &data, opening.embedder) {
            (Some(tools), Some(data), Some((embedder, reference))) => {
                let library = Library::open(data.path(), tools, embedder, reference)?;
                Some(Arc::new(library))
            }
            _ => None,
        };
        let halted = Arc::clone(setup.stop);
        let served = Self::new(pipeline, corpora, limits, halted, log);
        let folder = data.as_ref().map(DataFolder::path);
        let served = served.keeping(settings.keep_questions, folder)?;
        let collector = settings.otlp_endpoint.as_deref();
        let is_trusted = collector.is_none_or(|url| settings.trusts(url));
        let served = served.sending(collector, settings.otlp_content, is_trusted)?;
        let judge = settings.watch_judge.as_ref();
        let judge = judge.map(|judge| setup.other_language_model(judge));
        let served = Self {
            judge: judge.transpose()?.map(Judge::new).map(Arc::new),
            model: opening.model,
            reranking: opening.reranking,
            studies: Studies::open(opening.studies, data.as_ref().map(DataFolder::path))?,
            library,
            data: data.map(Arc::new),
            ..served
        };
        let Some(guarantee) = opening.guarantee else {
            return Ok(served);
        };
        let folder = settings.server_data.as_ref();
        let file = folder.map(|folder| folder.join(WATCHED));
        if served.data.is_some() {
            return Ok(served.with_guarantee(guarantee, opening.drawn, file)?);
        }
        let watch = served.watch_of(guarantee, opening.drawn, file)?;
        Ok(Self {
            watch: Some(Arc::new(watch.keeping_nothing())),
            ..served
        })
    }

    /// This server with a new opening. Both share counts, stored data and work in progress; an unchanged guarantee
    /// stays watched.
    ///
    /// # Errors
    /// A guarantee that is not for what is served.
    pub(crate) fn reopened(&self, opening: Opening) -> Result<Self, OpenError> {
        for corpus in &opening.corpora {
            self.metrics.corpus(&corpus.state());
        }
        let served = Self {
            pipeline: opening.pipeline,
            model: opening.model,
            corpora: Corpora::new(opening.corpora),
            reranking: opening.reranking,
            limits: opening.limits,
            answers: Arc::clone(&self.answers),
            searches: Arc::clone(&self.searches),
            embeddings: Arc::clone(&self.embeddings),
            metrics: Arc::clone(&self.metrics),
            log: Arc::clone(&self.log),
            library: self.library.clone(),
            watch: None,
            judge: self.judge.clone(),
            traces: Arc::clone(&self.traces),
            evals: Arc::clone(&self.evals),
            responses: self.responses.clone(),
            spans: self.spans.clone(),
            corrections: Arc::clone(&self.corrections),
            corrected: RwLock::default(),
            studies: Studies::open(opening.studies, self.data.as_deref().map(DataFolder::path))?,
            data: self.data.clone(),
            upstream: Upstream::default(),
            halted: Arc::clone(&self.halted),
            started: self.started,
        };
        let Some(guarantee) = opening.guarantee else {
            return Ok(served);
        };
        let file = self.data.as_ref().map(|data| data.path().join(WATCHED));
        let watch = served.watch_of(guarantee, opening.drawn, file)?;
        let watch = match &self.watch {
            Some(own) if own.is_of_same(&watch) => Arc::clone(own),
            _ => Arc::new(watch),
        };
        self.kept("watch", watch.write());
        Ok(Self {
            watch: Some(watch),
            ..served
        })
    }

    /// Serves what was published since the corpora were opened, and drops corpora that clients have removed since;
    /// `names` are those of the settings.
    ///
    /// # Errors
    /// Corpora that cannot be opened.
    pub(crate) fn catch_up(&self, setup: &Setup<'_>, names: &[String]) -> Result<(), OpenError> {
        let (renewed, failed) = self.corpora.refresh(setup);
        if let Some((_, error)) = failed.into_iter().next() {
            return Err(error.into());
        }
        renewed.iter().for_each(|state| self.metrics.corpus(state));
        // Corrections may have changed it since it was opened.
        self.reread_datastore().map_err(SetupError::from)?;
        let Some((library, data)) = self.library.as_ref().zip(self.data.as_ref()) else {
            return Ok(());
        };
        let made = library::made(data.path(), &[])?;
        for opened in self.corpora.all() {
            let is_there =
                names.contains(&opened.name) || made.iter().any(|(name, _)| *name == opened.name);
            if !is_there {
                self.corpora.remove(&opened.name);
            }
        }
        for (name, address) in made {
            if self.corpora.all().iter().all(|opened| opened.name != name) {
                let embedder = Arc::clone(&library.embedder);
                let retriever = setup.retriever_by(&address, embedder, &self.pipeline.model)?;
                let address = Some(address);
                self.corpora.insert(Opened {
                    name,
                    retriever,
                    address,
                });
            }
        }
        Ok(())
    }

    /// Serves what is already open. Raising `halted` ends all work.
    #[must_use]
    pub fn new(
        pipeline: Pipeline,
        corpora: Vec<Opened>,
        limits: Limits,
        halted: Arc<AtomicBool>,
        log: Log,
    ) -> Self {
        let metrics = Metrics::new();
        for corpus in &corpora {
            metrics.corpus(&corpus.state());
        }
        Self {
            model: pipeline.model.fingerprint().to_owned(),
            pipeline,
            corpora: Corpora::new(corpora),
            reranking: SetReranking {
                by: Rerank::None,
                depth: DEPTH,
                chunk: Segmentation::Whole,
            },
            limits,
            answers: Arc::new(Gate::new(limits.parallel, limits.queue)),
            searches: Arc::new(Gate::new(limits.parallel, limits.queue)),
            embeddings: Arc::new(Gate::new(limits.parallel, limits.queue)),
            metrics: Arc::new(metrics),
            log,
            library: None,
            watch: None,
            judge: None,
            traces: Arc::new(Traces::in_memory(false)),
            evals: Arc::new(Evals::in_memory()),
            responses: None,
            spans: None,
            corrections: Arc::new(Corrections::in_memory()),
            corrected: RwLock::default(),
            studies: None,
            data: None,
            upstream: Upstream::default(),
            halted,
            started: unix_seconds(),
        }
    }

    /// The load of all gates, by name; the first is that of questions.
    pub(crate) fn gates(&self) -> Vec<(&'static str, Load)> {
        let library = self.library.as_ref();
        let changes = library.map(|library| ("changes", library.jobs.load()));
        let gates = [
            ("answers", self.answers.load()),
            ("searches", self.searches.load()),
            ("embeddings", self.embeddings.load()),
            ("large_bodies", body::load()),
        ];
        gates.into_iter().chain(changes).collect()
    }

    /// About how many tokens a question of so many bytes takes, with evidence and an answer, before any are counted.
    pub(crate) fn prompt_estimate(&self, bytes: usize) -> usize {
        let settings = &self.pipeline.settings;
        estimated_tokens(bytes) + settings.evidence_tokens + settings.max_tokens
    }

    /// What clients may name as model: the policy of the settings, those that can choose here, and the embedder.
    #[must_use]
    pub fn models(&self) -> Vec<String> {
        let has_corpus = !self.corpora.all().is_empty();
        let policies = policies::listed(&self.pipeline, has_corpus);
        let names = policies.into_iter().map(policies::name_of);
        let embedder = has_corpus.then(|| policies::EMBEDDER.to_owned());
        let all = std::iter::once(policies::requested(None)).chain(names);
        all.chain(embedder).collect()
    }

    /// Adds what clients put in.
    #[must_use]
    pub fn with_library(self, library: Library) -> Self {
        Self {
            library: Some(Arc::new(library)),
            ..self
        }
    }

    /// Adds a model that judges which of two differing answers to a drawn question is right.
    #[must_use]
    pub fn judged_by(self, judge: Arc<dyn LanguageModel>) -> Self {
        let judge = Some(Arc::new(Judge::new(judge)));
        Self { judge, ..self }
    }

    /// Adds the studies in a folder.
    #[must_use]
    pub fn with_studies(self, folder: PathBuf) -> Self {
        let studies = Some(Studies::new(folder));
        Self { studies, ..self }
    }

    /// Keeps traces and questions to evaluate on, with or without the texts of questions and answers, in a folder, if
    /// there is one, from which a later server goes on.
    ///
    /// # Errors
    /// A folder that cannot be read or written.
    pub fn keeping(self, texts: bool, folder: Option<&Path>) -> Result<Self, RecordError> {
        let Some(folder) = folder else {
            let traces = Arc::new(Traces::in_memory(texts));
            return Ok(Self { traces, ..self });
        };
        let (traces, unreadable) = Traces::open(folder.join(TRACES), texts)?;
        if unreadable > 0 {
            (self.log)(&Entry::Stale {
                what: TRACES.to_owned(),
                detail: format!("{unreadable} lines cannot be read, and are left out"),
            });
        }
        Ok(Self {
            traces: Arc::new(traces),
            evals: Arc::new(Evals::open(folder.join(EVALS))?),
            responses: Some(Arc::new(Responses::open(folder.join(responses::FOLDER))?)),
            corrections: Arc::new(Corrections::open(folder.join(CORRECTIONS))?),
            ..self
        })
    }

    /// Sends spans of questions to an OpenTelemetry collector, if one is named here or by OpenTelemetry's variables;
    /// with or without questions and answers in them, and with or without the headers of those variables.
    ///
    /// # Errors
    /// An invalid address; a build without the feature `otel`.
    pub fn sending(
        self,
        collector: Option<&str>,
        content: bool,
        gets_headers: bool,
    ) -> Result<Self, SpansError> {
        let to = Destination {
            endpoint: collector,
            content,
            gets_headers,
        };
        let (metrics, log) = (Arc::clone(&self.metrics), Arc::clone(&self.log));
        let unsent = move |why: &str, is_first| {
            metrics.unsent();
            if is_first {
                log(&Entry::Unsent {
                    what: "spans",
                    detail: why.to_owned(),
                });
            }
        };
        let spans = Spans::open(to, unsent)?.map(Arc::new);
        Ok(Self { spans, ..self })
    }

    /// Records what happened to a question, at once on disk if it must be durable.
    pub(crate) fn note(&self, happened: TraceEvent, durably: bool) {
        self.kept("traces", self.traces.write(&happened, durably));
        self.traces.take(happened);
    }

    /// Reports what could not be written to the folder.
    pub(crate) fn kept<E: Display>(&self, what: &'static str, written: Result<(), E>) {
        if let Err(error) = written {
            self.metrics.unwritten(what);
            (self.log)(&Entry::Unwritten {
                what,
                detail: error.to_string(),
            });
        }
    }

    /// Watches a guarantee of its policy on a share of the questions, drawn by a seed. The findings are kept in a
    /// file, if there is one, from which a later server goes on.
    ///
    /// # Errors
    /// A guarantee that is not for what is served.
    pub fn with_guarantee(
        self,
        guarantee: Guarantee,
        (share, seed): (f64, u64),
        file: Option<PathBuf>,
    ) -> Result<Self, NotGuaranteed> {
        let watch = self.watch_of(guarantee, (share, seed), file)?;
        self.kept("watch", watch.write());
        Ok(Self {
            watch: Some(Arc::new(watch)),
            ..self
        })
    }

    fn watch_of(
        &self,
        guarantee: Guarantee,
        (share, seed): (f64, u64),
        file: Option<PathBuf>,
    ) -> Result<Watch, NotGuaranteed> {
        let (corpus, prompt) = (self.first_fingerprint(), prompt::fingerprint());
        let now = Now {
            policy: self.pipeline.settings.policy,
            abstain: self.pipeline.settings.abstain,
            samples: self.pipeline.settings.samples,
            model: self.pipeline.model.fingerprint(),
            corpus: corpus.as_deref(),
            prompt: &prompt,
        };
        Watch::new(guarantee, now, (share, seed), file)
    }

    /// The current pipeline.
    pub(crate) fn pipeline(&self) -> Pipeline {
        let mut pipeline = self.pipeline.clone();
        pipeline.routing.datastore = self.datastore();
        pipeline
    }

    /// The sources that a correction may name: those of the voting datastore, or else the model itself and the served
    /// corpora; only those that the caller may read.
    pub(crate) fn sources(&self, caller: &Caller) -> Vec<String> {
        let corpora: Vec<String> = match &self.pipeline.routing.datastore {
            Some(datastore) => datastore.corpora().to_vec(),
            None => {
                let all = self.corpora.all();
                all.iter().map(|corpus| corpus.name.clone()).collect()
            }
        };
        let corpora = corpora.into_iter().filter(|name| caller.may_read(name));
        std::iter::once(SELF.to_owned()).chain(corpora).collect()
    }

    /// The voting datastore as it is now.
    pub(crate) fn datastore(&self) -> Option<Arc<Datastore>> {
        let corrected = read(&self.corrected);
        let opened = self.pipeline.routing.datastore.as_ref();
        corrected.as_ref().or(opened).cloned()
    }

    /// Reads the datastore again, with the corrections since it was opened.
    ///
    /// # Errors
    /// A datastore that cannot be read, or that is now of another model.
    pub(crate) fn reread_datastore(&self) -> Result<(), AnswerError> {
        let Some(datastore) = &self.pipeline.routing.datastore else {
            return Ok(());
        };
        let now = Datastore::open(datastore.folder())?;
        now.check(self.pipeline.model.fingerprint())?;
        self.vote_by(now);
        Ok(())
    }

    /// Replaces the voting datastore.
    pub(crate) fn vote_by(&self, datastore: Datastore) {
        *write(&self.corrected) = Some(Arc::new(datastore));
    }

    /// The policy of the settings, or `always` if its guarantee does not hold.
    pub(crate) fn policy_in_force(&self) -> Policy {
        let set = self.pipeline.settings.policy;
        match &self.watch {
            Some(watch) if watch.has_lapsed() => Policy::ALWAYS,
            _ => set,
        }
    }

    /// The standing of a guarantee over the default corpus.
    pub(crate) fn standing(&self, watch: &Watch) -> Standing {
        watch.standing(self.first_fingerprint().as_deref())
    }

    /// Whether a caller may see findings over the default corpus, such as the standing of its guarantee.
    pub(crate) fn may_read_first(&self, caller: &Caller) -> bool {
        let corpora = self.corpora.all();
        let first = corpora.first();
        first.map_or(caller.may_read_all(), |first| caller.may_read(&first.name))
    }

    /// The fingerprint of the default corpus.
    fn first_fingerprint(&self) -> Option<String> {
        let corpora = self.corpora.all();
        let first = corpora.first();
        first.map(|corpus| corpus.retriever.back_end().fingerprint())
    }

    /// What clients put in.
    ///
    /// # Errors
    /// A server that keeps nothing.
    pub(crate) fn library(&self) -> Result<&Library, Refusal> {
        self.library.as_deref().ok_or_else(|| {
            let message = "this server takes nothing in: it was started without a folder for that (the setting server_data)";
            Refusal::forbidden("read_only", message)
        })
    }

    /// The id and the name of the file that a document of a corpus came from; if it came from none, its own id and
    /// title.
    pub(crate) fn file_of(&self, corpus: &str, doc_id: &str, title: &str) -> (String, String) {
        let title = match title {
            "" => doc_id.to_owned(),
            title => title.to_owned(),
        };
        match &self.library {
            Some(library) => library.named(corpus, doc_id, title),
            None => library::unfiled(doc_id, title),
        }
    }

    /// The studies to show.
    ///
    /// # Errors
    /// A server without a folder of them.
    pub(crate) fn studies(&self) -> Result<&Studies, Refusal> {
        self.studies.as_ref().ok_or_else(|| {
            let message = "this server shows no studies: it was started without a folder of them (the setting studies)";
            Refusal::not_found("no_studies", message)
        })
    }

    /// Reports a new generation.
    pub(crate) fn renewed(&self, state: CorpusState) {
        self.metrics.corpus(&state);
        (self.log)(&Entry::Corpus {
            name: state.name,
            generation: state.generation,
        });
    }

    /// The current corpora; the first is the default.
    #[must_use]
    pub fn corpora(&self) -> Vec<Arc<Opened>> {
        self.corpora.all()
    }

    /// The corpora after the first that a model may choose among and a caller may read.
    pub(crate) fn extra_corpora(&self, caller: &Caller) -> BTreeMap<String, Retriever> {
        let all = self.corpora.all().into_iter().skip(1);
        let readable = all.filter(|corpus| caller.may_read(&corpus.name));
        readable
            .map(|corpus| (corpus.name.clone(), corpus.retriever.clone()))
            .collect()
    }
}
