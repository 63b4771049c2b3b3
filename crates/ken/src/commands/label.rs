//! `ken label sources`: finds the source that helps most with each question of a file.

use std::path::Path;
use std::sync::Arc;

use ken_eval::{ResultsFile, RunError, with_ending};
use ken_lab::{Labeling, NamedCorpus, SourceSummary, label_sources, summarize_sources};
use ken_language::LanguageModel;
use ken_setup::{CorpusSource, Setup};

use crate::arguments::label::SourcesArguments;
use crate::commands::records;
use crate::failure::Result;
use crate::output::{self, share};
use crate::session::Session;

pub(crate) fn run(arguments: &SourcesArguments, session: &Session<'_>) -> Result<()> {
    let questions = records::questions(&arguments.questions, arguments.limit, session.settings)?;
    let model = session.opening(|setup| setup.language_model())?;
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
    let settings = session.settings;
    let filters = settings.filters_in_words();
    let identity = work.identity(settings.computing(), filters, &questions);
    let batch = arguments.batch;
    let labeled = records::resumed(&out, identity, batch, session, |file, run| {
        let first = work.first_identity(settings.computing());
        let mut first = ResultsFile::open(&with_ending(&out, "first"), first)?;
        label_sources(&work, &questions, &mut first, file, run)
    })?;
    records::report(&labeled, &out, session.json, |table| {
        show(&summarize_sources(&labeled), &out, table)
    })
}

/// Opens the named corpora, or else that of the settings.
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
                "by majority {}, by sum {}; better than no context {}",
                share(source.majority),
                share(source.sum),
                share(source.above_null)
            ),
        ));
    }
    rows.extend([
        ("rules agree".to_owned(), share(summary.agreement)),
        (
            "changed by writing".to_owned(),
            share(summary.changed_by_writing),
        ),
        ("per question".to_owned(), out.display().to_string()),
        ("as a table".to_owned(), table.display().to_string()),
    ]);
    output::pairs(rows)
}
