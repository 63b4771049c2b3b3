//! `ken serve`: models and corpora opened and served, with the log on stderr.

mod allocator;
mod intake;
mod keys;
mod log;
mod mcp;
mod measure;

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ken_answer::BackEnd;
use ken_server::{Access, Configured, Entry, Log, Served, Source, Tools};
use ken_setup::Setup;
use serde_json::json;

use self::intake::Documents;
use self::log::LogLines;
use self::measure::Policies;
use crate::arguments::serve::{ServeArguments, ServeVerb};
use crate::failure::{Failure, Result};
use crate::output;
use crate::session::Session;

/// How often it is looked whether opening is to stop.
const LOOK: Duration = Duration::from_millis(50);

/// How long to wait before an endpoint that is not there is asked once more, beside the retries of each request.
const RETRY: Duration = Duration::from_secs(1);

/// Runs the verb; `source` is where the settings come from.
pub(crate) fn run(arguments: &ServeArguments, session: &Session<'_>, source: Source) -> Result<()> {
    match &arguments.verb {
        None => serve(session, source),
        Some(ServeVerb::Key(verb)) => keys::run(verb, session),
        Some(ServeVerb::Mcp) => mcp::run(session),
    }
}

fn serve(session: &Session<'_>, source: Source) -> Result<()> {
    allocator::return_what_is_freed();
    let lines = LogLines::begin()?;
    let settings = session.settings;
    let access = Access::open(settings.server_keys.clone())?;
    let access = access.allowing(settings.allowed_origins.clone().unwrap_or_default());
    // Before models are read, which may take a while.
    let listener = ken_server::bind(settings.listen, &access)?;
    let tools = Tools {
        intake: Arc::new(Documents::by(settings)),
        measurer: Arc::new(Policies),
    };
    let served = open(session, Some(&tools), &lines.log())?;
    announce(&served, &listener, session.json)?;
    let configured = Configured {
        settings: settings.clone(),
        source,
    };
    ken_server::serve(served, access, listener, Some(configured), session.stop)?;
    Ok(())
}

/// Opens what the settings name. Ctrl-C stops that at once, but not what is answered later: the server
/// ends that itself. Without `tools`, nothing is taken in or measured.
fn open(session: &Session<'_>, tools: Option<&Tools>, log: &Log) -> Result<Served> {
    let halted = Arc::new(AtomicBool::new(false));
    let opening = AtomicBool::new(true);
    let served = std::thread::scope(|scope| {
        scope.spawn(|| {
            while opening.load(Ordering::Relaxed) {
                if session.is_stopped() {
                    halted.store(true, Ordering::Relaxed);
                }
                std::thread::sleep(LOOK);
            }
        });
        let setup = Setup {
            stop: &halted,
            ..session.setup()
        };
        let served = open_patiently(&setup, tools, log, &halted);
        opening.store(false, Ordering::Relaxed);
        served
    });
    if session.is_stopped() {
        return Err(Failure::stopped("stopped before the server was ready"));
    }
    Ok(served?)
}

/// Opens what the settings name, as soon as the model server is there: both may be started at once.
fn open_patiently(
    setup: &Setup<'_>,
    tools: Option<&Tools>,
    log: &Log,
    halted: &AtomicBool,
) -> std::result::Result<Served, ken_server::OpenError> {
    let started = Instant::now();
    let patience = Duration::from_secs(setup.settings.model_wait as u64);
    loop {
        match Served::open(setup, tools.cloned(), Arc::clone(log)) {
            Err(error)
                if error.is_absent_endpoint()
                    && started.elapsed() < patience
                    && !halted.load(Ordering::Relaxed) =>
            {
                log(&Entry::Waiting {
                    detail: error.to_string(),
                });
                std::thread::sleep(RETRY);
            }
            opened => return opened,
        }
    }
}

/// Says where the server is, and what it serves.
fn announce(served: &Served, listener: &TcpListener, json: bool) -> Result<()> {
    let console = format!("http://{}/", listener.local_addr()?);
    let url = format!("{console}v1");
    let models = served.models();
    let corpora = served.corpora();
    if json {
        let corpora = corpora.iter().map(|corpus| {
            let searched = corpus.retriever.back_end();
            json!({ "name": corpus.name, "generation": searched.generation() })
        });
        let corpora: Vec<_> = corpora.collect();
        return output::json(&json!({
            "url": url, "console": console, "models": models, "corpora": corpora,
        }));
    }
    let names: Vec<String> = corpora
        .iter()
        .map(|corpus| {
            let searched = corpus.retriever.back_end();
            let of = match searched {
                BackEnd::Service(service) => service.address().to_string(),
                _ => format!("generation {}", searched.generation()),
            };
            let passages = searched.passage_count().map(|passages| {
                let counted = output::counted(passages, "passage");
                format!(", {counted}")
            });
            format!("{} ({of}{})", corpus.name, passages.unwrap_or_default())
        })
        .collect();
    output::line(format!("serving OpenAI's API at {url}"))?;
    output::line(format!("console: {console}"))?;
    output::line(format!("models: {}", models.join(", ")))?;
    match names.as_slice() {
        [] => Ok(()),
        names => output::line(format!("corpora: {}", names.join(", "))),
    }
}
