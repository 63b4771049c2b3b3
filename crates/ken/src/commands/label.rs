//! `ken label sources`: the source that helps most with each question of a file.

use std::path::Path;
use std::sync::Arc;

use ken_answer::prompt;
use ken_language::LanguageModel;
use ken_setup::{CorpusSource, Settings, Setup};
use ken_study::{
    Labeling, NamedCorpus, Question, ResultsFile, RunError, SourceSummary, label, label_sources,
    summarize_sources, write_parquet,
};

use crate::arguments::SourcesArguments;
use crate::commands::records::{self, share};
use crate::failure::Result;
use crate::output;
use crate::session::Session;

/// Runs `ken label sources`.
pub(crate) fn run(arguments: &SourcesArguments, session: &Session<'_>) -> Result<()> {
    let questions = records::questions(&arguments.questions, arguments.limit, session.settings)?;
    let model = session.setup().language_model()?;
    let corpora = corpora(session.setup(), &model)?;
    let out = records::out(
        arguments.out.as_ref(),
        &arguments.questions,
        "sources.jsonl",
    );
    let [first, ..] = corpora.as_slice() else {
        return Err(RunError::NoCorpus.into());
    };
    let work = Labeling {
        model: model.as_ref(),
        corpora: &corpora,
        embedder: first.retriever.embedder(),
        mode: session.settings.mode,
        contexts: arguments.contexts.get(),
        golden: arguments.golden,
        seed: session.settings.seed,
    };
    work.check()?;
    let run_settings = run_settings(&work, session.settings, &questions);
    let labeled = records::resumed(
        &out,
        run_settings,
        arguments.batch,
        session.stop,
        |file, run| {
            let first = records::with_ending(&out, "first");
            let mut first = ResultsFile::open(&first, first_settings(&work, session.settings))?;
            label_sources(&work, &questions, &mut first, file, run)
        },
    )?;
    records::report(&labeled, &out, session.json, write_parquet, |table| {
        show(&summarize_sources(&labeled), &out, table)
    })
}

/// Opens the corpora that are named, or else that of the settings.
fn corpora(setup: Setup<'_>, model: &Arc<dyn LanguageModel>) -> Result<Vec<NamedCorpus>> {
    let settings = setup.settings;
    let sources = match settings.sources.as_slice() {
        [] => vec![CorpusSource::unnamed(settings.corpus()?.clone())],
        named => named.to_vec(),
    };
    let opened = setup.named_retrievers(&sources, model)?.into_iter();
    Ok(opened
        .map(|(name, retriever)| NamedCorpus { name, retriever })
        .collect())
}

/// What the first texts depend on.
fn first_settings(work: &Labeling<'_>, settings: &Settings) -> ken_study::RunSettings {
    [
        ("model", work.model.fingerprint().to_owned()),
        ("precision", settings.precision.to_string()),
        ("device", settings.device.to_string()),
        ("verbalize", prompt::verbalize_fingerprint()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// All that the records depend on. A file of records is resumed under the same only; as the examples
/// of a question come from what was written about others, the questions are part of it.
fn run_settings(
    work: &Labeling<'_>,
    settings: &Settings,
    questions: &[Question],
) -> ken_study::RunSettings {
    let mut run = first_settings(work, settings);
    let mut set = |name: &str, value: String| run.insert(name.to_owned(), value);
    for corpus in work.corpora {
        let searched = corpus.retriever.back_end();
        set(&format!("corpus {}", corpus.name), searched.fingerprint());
    }
    let filters: Vec<String> = settings.filters.iter().map(ToString::to_string).collect();
    set("filters", filters.join(" "));
    set("mode", settings.mode.to_string());
    if let Some(reranking) = work.corpora.first().and_then(|c| c.retriever.reranking()) {
        set("rerank", reranking.identity());
    }
    set("contexts", work.contexts.to_string());
    set("golden", work.golden.to_string());
    set("seed", settings.seed.to_string());
    set("embedder", work.embedder.fingerprint().to_owned());
    set("prompt", prompt::fingerprint());
    set("questions", label::fingerprint_of_questions(questions));
    run
}

fn show(summary: &SourceSummary, out: &Path, table: &Path) -> Result<()> {
    let mut rows = vec![
        ("questions".to_owned(), summary.n.to_string()),
        ("failed".to_owned(), summary.failed.to_string()),
    ];
    if summary.unlabeled > 0 {
        rows.push((
            "without golden answers".to_owned(),
            summary.unlabeled.to_string(),
        ));
    }
    for source in &summary.sources {
        rows.push((
            format!("preferred: {}", source.source),
            format!(
                "by majority {}, by sum {}",
                share(source.majority),
                share(source.sum)
            ),
        ));
    }
    rows.extend([
        ("rules agree".to_owned(), share(summary.agreement)),
        ("per question".to_owned(), out.display().to_string()),
        ("as a table".to_owned(), table.display().to_string()),
    ]);
    output::pairs(rows)
}
