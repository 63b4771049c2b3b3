//! A server on its own port, over two small corpora.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ken_answer::{
    Abstention, AnswerSettings, Datastore, Pipeline, Policy, Retriever, RoutingModels,
};
use ken_corpus::Corpus;
use ken_documents::read_documents;
use ken_index::Index;
use ken_ingest::{Ingest, ingest};
use ken_language::{Embedder, LanguageModel};
use ken_policy::Guarantee;
use ken_server::{
    Access, Configured, Grant, Keys, Library, Limits, Opened, Scope, Served, Source, Tools, bind,
    serve,
};
use ken_setup::{CorpusAddress, Settings};
use ken_testing::{Fact, FnEmbedder, TableModel, cases, extended};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::{Response, exchange, request};
use crate::corrections::{Chooser, make_datastore};
use crate::held::{Held, Holding};
use crate::intake::Documents;
use crate::measure::Policies;
use crate::slow_model::{Reading, SlowModel};

/// A question that only the corpus answers right, one that the model knows, and a follow-up.
pub(crate) const OIL: &str = "Who changes the oil?";
pub(crate) const FRANCE: &str = "What is the capital of France?";
/// A question that the model has no idea of, so that it retrieves.
pub(crate) const CHIMNEY: &str = "When is the chimney of the house swept?";
pub(crate) const FOLLOW_UP: &str = "And in which month does that person do so?";
pub(crate) const REWRITTEN: &str = "In which month does Ida change the oil?";

/// Documents of the corpus `notes`.
const NOTES: [(&str, &str, u32); 3] = cases![
    "cars/oil.md" => "The oil of the car is changed every May; Ida changes it.", 2021;
    "cars/tires.md" => "The tires of the car are changed in October.", 2019;
    "house.md" => "The chimney of the house is swept in spring.", 2020;
];

pub(crate) fn facts() -> Vec<Fact> {
    let fact = |question: &str, answer: &str, wrong: &str, known| Fact {
        question: question.to_owned(),
        answer: answer.to_owned(),
        wrong: vec![wrong.to_owned()],
        known,
        copied: 1.0,
        ..Fact::default()
    };
    vec![
        fact(OIL, "Ida", "Bob", 0.0),
        fact(FRANCE, "Paris", "Rome", 1.0),
        fact(FOLLOW_UP, REWRITTEN, "x", 1.0),
        fact(REWRITTEN, "May", "June", 0.0),
        fact("Hi!", "Hello", "x", 1.0),
        Fact {
            wrong: ('a'..='z')
                .map(|letter| format!("{letter}{letter}"))
                .collect(),
            ..fact(CHIMNEY, "spring", "", 0.0)
        },
    ]
}

/// A guarantee for a model and a corpus, by their fingerprints.
pub(crate) type Guaranteed = fn(&str, &str) -> Guarantee;

/// A running server, which ends when dropped.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) stop: Arc<AtomicBool>,
    /// Lines of the log, as JSON.
    pub(crate) log: Arc<Mutex<Vec<Value>>>,
    /// Holds the ingestion of documents.
    pub(crate) holding: Arc<Holding>,
    thread: Option<JoinHandle<()>>,
    pub(crate) folder: TempDir,
    kind: Kind,
}

/// What kind of server it is.
#[derive(Clone, Default)]
struct Kind {
    /// The origins of pages that may use it.
    origins: Option<&'static str>,
    /// Whether it has no folder for what clients put in.
    is_read_only: bool,
    /// Whether it keeps the texts of questions and answers.
    keeps_texts: bool,
    guaranteed: Option<Guaranteed>,
    /// The abstention, if there is a guarantee.
    abstain: Option<Abstention>,
    /// The collector of its spans, and whether these hold questions and answers.
    collector: Option<(SocketAddr, bool)>,
    /// The model that judges drawn questions.
    judge: Option<Arc<dyn LanguageModel>>,
    /// Whether it shows the studies in the folder `studies`.
    shows_studies: bool,
    /// Whether the datastore in the folder `datastore` votes.
    votes: bool,
    /// An embedder for questions that passes as the corpora's own.
    embedder: Option<FnEmbedder>,
}

/// The file of settings.
pub(crate) const SETTINGS: &str = "# none\n";

/// Limits that no test meets by chance.
pub(crate) const LIMITS: Limits = Limits {
    idle: Duration::from_secs(75),
    parallel: 4,
    queue: 64,
    deadline: Duration::from_secs(60),
    connections: 1024,
};

impl Running {
    /// Over a table, without keys.
    pub(crate) fn start() -> Self {
        Self::over(TableModel::new(facts()).unwrap(), LIMITS, &Keys::default())
    }

    /// Over a model that reads its prompts until it is released.
    pub(crate) fn slow(limits: Limits) -> (Self, Arc<Reading>) {
        Self::slow_of(limits, Kind::default())
    }

    /// As [`Running::slow`], with the folder `studies` shown.
    pub(crate) fn slow_with_studies() -> (Self, Arc<Reading>) {
        let kind = Kind {
            shows_studies: true,
            ..Kind::default()
        };
        Self::slow_of(LIMITS, kind)
    }

    fn slow_of(limits: Limits, kind: Kind) -> (Self, Arc<Reading>) {
        let reading = Arc::new(Reading::default());
        let model = SlowModel {
            table: TableModel::new(facts()).unwrap(),
            reading: Arc::clone(&reading),
        };
        let folder = tempfile::tempdir().unwrap();
        let server = Self::in_folder(folder, model, limits, &Keys::default(), kind);
        (server, reading)
    }

    pub(crate) fn over(model: impl LanguageModel + 'static, limits: Limits, keys: &Keys) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self::in_folder(folder, model, limits, keys, Kind::default())
    }

    /// Over a table, keeping the texts of questions and answers.
    pub(crate) fn keeping(keys: &Keys) -> Self {
        Self::with(keys, |kind| kind.keeps_texts = true)
    }

    /// For pages of other origins, too.
    pub(crate) fn allowing(origins: &'static str) -> Self {
        Self::with(&Keys::default(), |kind| kind.origins = Some(origins))
    }

    /// Over a table, of a kind that is set.
    fn with(keys: &Keys, set: impl FnOnce(&mut Kind)) -> Self {
        let mut kind = Kind::default();
        set(&mut kind);
        let folder = tempfile::tempdir().unwrap();
        let model = TableModel::new(facts()).unwrap();
        Self::in_folder(folder, model, LIMITS, keys, kind)
    }

    /// Over a table with a context of 4,096 tokens, with another embedder of the same vectors.
    pub(crate) fn embedding(embedder: FnEmbedder, limits: Limits) -> Self {
        let kind = Kind {
            embedder: Some(embedder),
            ..Kind::default()
        };
        let folder = tempfile::tempdir().unwrap();
        let model = TableModel::new(facts()).unwrap().context(4096);
        Self::in_folder(folder, model, limits, &Keys::default(), kind)
    }

    /// Over a table, without a folder for what clients put in.
    pub(crate) fn read_only() -> Self {
        Self::with(&Keys::default(), |kind| kind.is_read_only = true)
    }

    /// Over a table, with the folder `studies` shown.
    pub(crate) fn showing_studies(keys: &Keys) -> Self {
        Self::with(keys, |kind| kind.shows_studies = true)
    }

    /// Over a model that chooses its source, with a datastore that votes; texts are kept.
    pub(crate) fn voting(keys: &Keys) -> Self {
        let kind = Kind {
            keeps_texts: true,
            votes: true,
            ..Kind::default()
        };
        let folder = tempfile::tempdir().unwrap();
        make_datastore(&folder.path().join("datastore"), &Chooser::new());
        Self::in_folder(folder, Chooser::new(), LIMITS, keys, kind)
    }

    /// Over a table, with a guarantee that is watched on all questions.
    pub(crate) fn guaranteed(keys: &Keys, guaranteed: Guaranteed) -> Self {
        Self::with(keys, |kind| kind.guaranteed = Some(guaranteed))
    }

    /// As [`Running::guaranteed`], with texts kept and the folder `studies` shown.
    pub(crate) fn of_all(keys: &Keys, guaranteed: Guaranteed) -> Self {
        Self::with(keys, |kind| {
            kind.guaranteed = Some(guaranteed);
            (kind.keeps_texts, kind.shows_studies) = (true, true);
        })
    }

    /// As [`Running::guaranteed`], with a judge.
    pub(crate) fn judged(guaranteed: Guaranteed, judge: Arc<dyn LanguageModel>) -> Self {
        Self::withholding(guaranteed, None, Some(judge))
    }

    /// As [`Running::guaranteed`], with an abstention.
    pub(crate) fn withholding(
        guaranteed: Guaranteed,
        abstain: Option<&str>,
        judge: Option<Arc<dyn LanguageModel>>,
    ) -> Self {
        Self::with(&Keys::default(), |kind| {
            kind.guaranteed = Some(guaranteed);
            kind.abstain = abstain.map(|text| text.parse().unwrap());
            kind.judge = judge;
            kind.keeps_texts = true;
        })
    }

    /// Over a table, with spans for a collector.
    #[cfg(feature = "otel")]
    pub(crate) fn sending(collector: SocketAddr, content: bool) -> Self {
        Self::with(&Keys::default(), |kind| {
            kind.collector = Some((collector, content));
        })
    }

    /// Ends it, and starts another one in its folder.
    pub(crate) fn again(mut self) -> Self {
        self.stop.store(true, Ordering::SeqCst);
        self.join();
        let folder = std::mem::replace(&mut self.folder, tempfile::tempdir().unwrap());
        let (keys, kind) = (Keys::default(), self.kind.clone());
        if kind.votes {
            Self::in_folder(folder, Chooser::new(), LIMITS, &keys, kind)
        } else {
            let model = TableModel::new(facts()).unwrap();
            Self::in_folder(folder, model, LIMITS, &keys, kind)
        }
    }

    fn in_folder(
        folder: TempDir,
        model: impl LanguageModel + 'static,
        limits: Limits,
        keys: &Keys,
        kind: Kind,
    ) -> Self {
        let log = Arc::new(Mutex::new(Vec::new()));
        let holding = Arc::new(Holding::default());
        let settings = Settings::resolve(None, []).unwrap();
        let fingerprint = model.fingerprint().to_owned();
        let mut served = match kind.guaranteed {
            None if kind.votes => {
                let datastore = Datastore::open(&folder.path().join("datastore")).unwrap();
                served_voting(datastore, &folder, model, limits, Arc::clone(&log))
            }
            None => {
                let log = Arc::clone(&log);
                let embedder = kind.embedder.clone();
                let embedder = embedder.unwrap_or_else(FnEmbedder::bag_of_words);
                served_with(
                    &embedder,
                    |pipeline| pipeline,
                    Policy::ALWAYS,
                    &folder,
                    model,
                    limits,
                    log,
                )
            }
            Some(guaranteed) => {
                let policy = "certainty@0.5".parse().unwrap();
                let withholding = |mut pipeline: Pipeline| {
                    pipeline.settings.abstain = kind.abstain;
                    pipeline
                };
                let log = Arc::clone(&log);
                let served = served_as(withholding, policy, &folder, model, limits, log);
                let corpus = served.corpora()[0].retriever.back_end().fingerprint();
                let file = Some(folder.path().join("watch.json"));
                let guarantee = guaranteed(&fingerprint, &corpus);
                served.with_guarantee(guarantee, (1.0, 5), file).unwrap()
            }
        };
        if !kind.is_read_only {
            let documents = Documents::by(&settings);
            let holding = Arc::clone(&holding);
            let tools = Tools {
                intake: Arc::new(Held { documents, holding }),
                measurer: Arc::new(Policies),
            };
            let embedder = FnEmbedder::bag_of_words();
            let reference = embedder.fingerprint().to_owned();
            let data = folder.path().join("data");
            let library = Library::open(&data, tools, Arc::new(embedder), reference).unwrap();
            served = served.with_library(library);
            served = served.keeping(kind.keeps_texts, Some(&data)).unwrap();
        }
        if let Some(judge) = &kind.judge {
            served = served.judged_by(Arc::clone(judge));
        }
        if let Some((collector, content)) = kind.collector {
            let collector = format!("http://{collector}");
            served = served.sending(Some(&collector), content, true).unwrap();
        }
        if kind.shows_studies {
            let studies = folder.path().join("studies");
            std::fs::create_dir_all(&studies).unwrap();
            served = served.with_studies(studies);
        }
        let path = folder.path().join("keys.json");
        keys.write(&path).unwrap();
        let access = Access::open(path).unwrap();
        let access = match kind.origins {
            Some(origins) => access.allowing(origins.parse().unwrap()),
            None => access,
        };
        let listener: TcpListener = bind("127.0.0.1:0".parse().unwrap(), &access).unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let file = folder.path().join("ken.toml");
        std::fs::write(&file, SETTINGS).unwrap();
        let thread = std::thread::spawn(move || {
            let source = Source {
                file: Some(file),
                given: Vec::new(),
            };
            let configured = Configured { settings, source };
            serve(served, access, listener, Some(configured), &flag).unwrap();
        });
        Self {
            address,
            stop,
            log,
            holding,
            thread: Some(thread),
            folder,
            kind,
        }
    }

    /// Its file of keys.
    pub(crate) fn keys(&self) -> PathBuf {
        self.folder.path().join("keys.json")
    }

    pub(crate) fn get(&self, path: &str) -> Response {
        exchange(self.address, &request("GET", path, &[], ""))
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Response {
        self.post_as(&[], path, body)
    }

    pub(crate) fn post_as(&self, headers: &[(&str, &str)], path: &str, body: &Value) -> Response {
        let request = request("POST", path, headers, &body.to_string());
        exchange(self.address, &request)
    }

    pub(crate) fn delete(&self, path: &str) -> Response {
        exchange(self.address, &request("DELETE", path, &[], ""))
    }

    /// A question to a policy, through chat completions.
    pub(crate) fn chat(&self, policy: &str, question: &str, more: &Value) -> Response {
        self.post("/v1/chat/completions", &chat(policy, question, more))
    }

    /// Waits until it ends by itself.
    pub(crate) fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A request for chat completions, with more fields.
pub(crate) fn chat(policy: &str, question: &str, more: &Value) -> Value {
    let messages = json!([{ "role": "user", "content": question }]);
    let body = json!({ "model": format!("ken/{policy}"), "messages": messages });
    extended(body, more)
}

fn make_corpora(folder: &TempDir) {
    let notes = NOTES.map(
        |(id, text, year)| json!({"id": id, "title": "Notes", "contents": text, "year": year}),
    );
    let other = [json!({"id": "z", "contents": "The oil of the boat is changed by Zoe."})];
    make_corpus(folder, "notes", &notes);
    make_corpus(folder, "boats", &other);
}

/// The server's content: two corpora, made if they are missing, and a model.
pub(crate) fn served(
    folder: &TempDir,
    model: impl LanguageModel + 'static,
    limits: Limits,
    log: Arc<Mutex<Vec<Value>>>,
) -> Served {
    served_by(Policy::ALWAYS, folder, model, limits, log)
}

/// As [`served`], with a policy.
pub(crate) fn served_by(
    policy: Policy,
    folder: &TempDir,
    model: impl LanguageModel + 'static,
    limits: Limits,
    log: Arc<Mutex<Vec<Value>>>,
) -> Served {
    served_as(|pipeline| pipeline, policy, folder, model, limits, log)
}

/// As [`served`], with a datastore that votes.
fn served_voting(
    datastore: Datastore,
    folder: &TempDir,
    model: impl LanguageModel + 'static,
    limits: Limits,
    log: Arc<Mutex<Vec<Value>>>,
) -> Served {
    let routing = RoutingModels {
        datastore: Some(Arc::new(datastore)),
        ..RoutingModels::default()
    };
    let voting = |pipeline: Pipeline| pipeline.with(routing).unwrap();
    served_as(voting, Policy::ALWAYS, folder, model, limits, log)
}

fn served_as(
    with: impl FnOnce(Pipeline) -> Pipeline,
    policy: Policy,
    folder: &TempDir,
    model: impl LanguageModel + 'static,
    limits: Limits,
    log: Arc<Mutex<Vec<Value>>>,
) -> Served {
    let embedder = FnEmbedder::bag_of_words();
    served_with(&embedder, with, policy, folder, model, limits, log)
}

fn served_with(
    embedder: &FnEmbedder,
    with: impl FnOnce(Pipeline) -> Pipeline,
    policy: Policy,
    folder: &TempDir,
    model: impl LanguageModel + 'static,
    limits: Limits,
    log: Arc<Mutex<Vec<Value>>>,
) -> Served {
    if !Corpus::exists(&folder.path().join("boats")) {
        make_corpora(folder);
    }
    let corpora = ["notes", "boats"].map(|name| opened(folder, name, embedder.clone()));
    let settings = AnswerSettings {
        policy,
        k: 2,
        evidence_tokens: 500,
        max_tokens: 16,
        full_tokens: 64,
        samples: 4,
        seed: 3,
        ..AnswerSettings::default()
    };
    let pipeline = with(Pipeline::new(Arc::new(model), None, settings));
    let log = move |entry: &ken_server::Entry| {
        let line = serde_json::to_value(entry).unwrap();
        log.lock().unwrap().push(line);
    };
    let halted = Arc::new(AtomicBool::new(false));
    Served::new(pipeline, corpora.into(), limits, halted, Arc::new(log))
}

fn make_corpus(folder: &TempDir, name: &str, documents: &[Value]) {
    let lines: Vec<String> = documents.iter().map(ToString::to_string).collect();
    let file = folder.path().join(format!("{name}.jsonl"));
    std::fs::write(&file, lines.join("\n")).unwrap();
    let embedder = FnEmbedder::bag_of_words();
    let corpus = folder.path().join(name);
    let work = Ingest::new(read_documents(&[file]).unwrap(), &corpus, &embedder);
    ingest(work, &mut |_| {}, &AtomicBool::new(false)).unwrap();
}

fn opened(folder: &TempDir, name: &str, embedder: FnEmbedder) -> Opened {
    let corpus = folder.path().join(name);
    let index = Index::open(Corpus::open(&corpus).unwrap().into()).unwrap();
    Opened {
        name: name.to_owned(),
        retriever: Retriever::new(index, Arc::new(embedder)).unwrap(),
        address: Some(CorpusAddress::Folder(corpus)),
    }
}

/// What a key may do, without quotas.
pub(crate) fn grant(scopes: &[Scope], corpora: Option<&[&str]>) -> Grant {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Grant {
        name: "test".to_owned(),
        scopes: scopes.to_vec(),
        corpora: corpora.map(owned),
        expires: None,
        requests_per_minute: None,
        tokens_per_day: None,
    }
}

/// Waits for something to become true.
pub(crate) fn wait_for(what: &str, happened: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !happened() {
        assert!(Instant::now() < deadline, "it never happened: {what}");
        std::thread::sleep(Duration::from_millis(3));
    }
}
