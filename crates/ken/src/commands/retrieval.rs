//! `ken eval` with judged documents: search measured alone, in several modes and beside other systems.

use std::collections::BTreeMap;

use ken_answer::Retriever;
use ken_eval::retrieval::{
    DocumentScore, JudgedQuery, Qrels, RetrievalFiles, TrecRun, evaluate_retrieval, judged_queries,
    per_query_csv, ranked_documents, read_queries, retrieval_csv, retrieval_report,
    unknown_documents,
};
use ken_index::Mode;
use ken_report::Provenance;
use ken_storage::{create_dir_all, replace};

use crate::arguments::answer::EvalArguments;
use crate::commands::{provenance, records};
use crate::failure::{Failure, Result};
use crate::progress::begun;
use crate::session::Session;

/// The default length of each ranking, in documents.
const RANKED: usize = 100;

pub(super) fn run(
    arguments: &EvalArguments,
    files: &RetrievalFiles,
    session: &Session<'_>,
) -> Result<()> {
    check_flags(arguments)?;
    let qrels = Qrels::read(&files.qrels)?;
    let (queries, of_queries) = judged_queries(read_queries(&files.queries)?, qrels)?;
    let queries = records::sampled(queries, arguments.limit, session.settings);
    let others = read_runs(arguments, &queries)?;
    let k = session.settings.k(RANKED);
    let folder = records::out(arguments.out.as_ref(), &arguments.questions, "retrieval");
    create_dir_all(&folder)?;
    let (mut runs, mut of_documents, mut settings) = (Vec::new(), None, Provenance::new());
    // Runs of other systems can be measured without a corpus.
    if others.is_empty() || session.settings.corpus().is_ok() {
        let retriever = session.opening(|setup| setup.retriever())?;
        runs = searched(arguments, &retriever, &queries, k, session)?;
        of_documents = unknown_documents(&queries, &runs, &retriever)?;
        settings = identity(&retriever, k, session);
    }
    for run in &runs {
        run.write(&folder.join(format!("{}.run", run.name)))?;
    }
    runs.extend(others);
    let mut evaluation = evaluate_retrieval(&queries, &runs, k, session.settings.seed)?;
    let of_files = of_queries.into_iter().chain(of_documents);
    evaluation.notices.splice(0..0, of_files);
    let name = arguments.questions.file_name().unwrap_or_default();
    let title = format!("Retrieval on {}", name.to_string_lossy());
    let report = retrieval_report(&title, &evaluation)
        .measured_with(provenance::of(settings, session.given));
    for (name, table) in [
        ("retrieval.csv", retrieval_csv(&evaluation)),
        ("queries.csv", per_query_csv(&evaluation)),
    ] {
        replace(&folder.join(name), table.as_bytes())?;
    }
    records::page(&report, &evaluation, "report", &folder, session.json)
}

/// Refuses flags about answers.
fn check_flags(arguments: &EvalArguments) -> Result<()> {
    let of_answers = [
        ("--policy", !arguments.policy.is_empty()),
        ("--records", arguments.records.is_some()),
        ("--against", arguments.against.is_some()),
        ("--by", arguments.by.is_some()),
        ("--held-out", arguments.held_out.is_some()),
    ];
    match of_answers.iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((flag, _)) => Err(Failure::refused(
            "flag_of_answers",
            format!("{flag} is about answers, and with judged documents search is measured alone"),
            format!("leave {flag} out, or name a file of questions without --qrels"),
        )),
    }
}

/// The runs of other systems.
fn read_runs(arguments: &EvalArguments, queries: &[JudgedQuery]) -> Result<Vec<TrecRun>> {
    let runs = arguments.runs.iter().map(|path| {
        let run = TrecRun::read(path)?;
        run.check_queries(path, queries.iter().map(|query| query.id.as_str()))?;
        Ok(run)
    });
    runs.collect()
}

/// The run of each mode.
fn searched(
    arguments: &EvalArguments,
    retriever: &Retriever,
    queries: &[JudgedQuery],
    k: usize,
    session: &Session<'_>,
) -> Result<Vec<TrecRun>> {
    let modes = match &arguments.modes[..] {
        [] => vec![session.settings.mode],
        named => named.to_vec(),
    };
    let runs = modes.into_iter().map(|mode| {
        let ranked = rank(retriever, queries, mode, k, arguments.batch.get(), session)?;
        Ok(TrecRun::new(&mode.to_string(), ranked))
    });
    runs.collect()
}

/// The rankings of one mode, computed one batch of queries after the other.
fn rank(
    retriever: &Retriever,
    queries: &[JudgedQuery],
    mode: Mode,
    k: usize,
    batch: usize,
    session: &Session<'_>,
) -> Result<BTreeMap<String, Vec<DocumentScore>>> {
    let mut display = begun("queries");
    let mut ranked = BTreeMap::new();
    for some in queries.chunks(batch) {
        if session.is_stopped() {
            return Err(Failure::stopped("stopped before the last query"));
        }
        display.show_items(&format!("{mode} search"), ranked.len(), queries.len());
        let texts: Vec<&str> = some.iter().map(|query| query.text.as_str()).collect();
        let documents = ranked_documents(retriever, &texts, mode, k)?;
        let ids = some.iter().map(|query| query.id.clone());
        ranked.extend(ids.zip(documents));
    }
    Ok(ranked)
}

/// What the rankings depend on.
fn identity(retriever: &Retriever, k: usize, session: &Session<'_>) -> Provenance {
    let mut settings = session.settings.retrieval_identity(Some(retriever), k);
    settings.remove("mode");
    let embedder = retriever.embedder().fingerprint().to_owned();
    settings.insert("embedder".to_owned(), embedder);
    settings.insert("seed".to_owned(), session.settings.seed.to_string());
    settings.extend(session.settings.computing());
    settings
}
