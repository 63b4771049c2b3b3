//! `ken label sources`: finds the source that helps most with each question of a file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ken_eval::part::Parts;
use ken_eval::{Question, ResultsFile, RunError, RunSettings, read_run, with_ending};
use ken_lab::label::{can_be_labeled, first_texts_of_all, label_after, write_first_texts};
use ken_lab::{
    FirstText, Labeling, NamedCorpus, SourceRecord, SourceSummary, label_sources, summarize_sources,
};
use ken_language::LanguageModel;
use ken_setup::Setup;
use serde_json::json;

use crate::arguments::label::SourcesArguments;
use crate::commands::parts::{self, PartedWork};
use crate::commands::records;
use crate::failure::Result;
use crate::output::{self, share};
use crate::session::Session;

/// The file of first texts in the folder of a part.
const FIRST: &str = "first.jsonl";

pub(crate) fn run(arguments: &SourcesArguments, session: &Session<'_>) -> Result<()> {
    let questions = records::questions(&arguments.questions, arguments.limit, session.settings)?;
    let model = session.opening(|setup| setup.language_model())?;
    let corpora = corpora(session.setup(), &model)?;
    let named = arguments.out.as_ref();
    let out = records::out(named, &arguments.questions, "sources.jsonl");
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
    let first = work.first_identity(settings.computing());
    let batch = arguments.batch;
    if arguments.part.part.is_some() {
        return label_part(&work, questions, [first, identity], out, arguments, session);
    }
    let labeled = records::resumed(&out, identity, batch, session, |file, run| {
        let mut first = ResultsFile::open(&first_file(&out), first)?;
        label_sources(&work, &questions, &mut first, file, run)
    })?;
    report(&labeled, &out, session)
}

/// Where the first texts of a whole run are.
fn first_file(out: &Path) -> PathBuf {
    with_ending(out, "first")
}

/// The next round of a part: labels, once the first texts about all questions are joined, and first texts before.
/// `identities` are what the first texts and the labels depend on.
fn label_part(
    work: &Labeling<'_>,
    questions: Vec<Question>,
    identities: [RunSettings; 2],
    out: PathBuf,
    arguments: &SourcesArguments,
    session: &Session<'_>,
) -> Result<()> {
    let [of_first, of_labels] = identities;
    let texts = read_run(&first_file(&out), &of_first)?;
    let joined = first_texts_of_all(&questions, &texts);
    let (part, parted) = (arguments.part.part, PartedWork::LabelSources);
    let place = parts::place(part, out, questions, &of_labels, &parted, session)?;
    let batch = arguments.batch;
    if let Some(first) = joined {
        records::resumed(&place.file(), of_labels, batch, session, |file, run| {
            label_after(work, &place.items, &first, file, run)
        })?;
        place.is_told_as_part::<SourceRecord>(session)?;
    } else {
        let file = place.out.join(FIRST);
        records::resumed(&file, of_first, batch, session, |file, mut run| {
            write_first_texts(work, &place.items, file, &mut run)
        })?;
        place.is_told_as_part::<FirstText>(session)?;
    }
    Ok(())
}

/// Joins the parts of a run: their first texts, and their labels once there are any.
pub(crate) fn join(parts: &Parts, out: &Path, session: &Session<'_>) -> Result<()> {
    let questions: Vec<Question> = parts.items()?;
    let are_there = parts.hold(parts::RECORDS);
    let labels = are_there.then(|| parts.records::<SourceRecord>(parts::RECORDS, &questions));
    let labels = labels.transpose()?;
    // Parts that began with the first texts of a whole run wrote none.
    if labels.is_none() || parts.hold(FIRST) {
        let texts = parts.records_of_some::<FirstText>(FIRST, &questions, can_be_labeled)?;
        let open = questions.iter().filter(|question| can_be_labeled(question));
        let open: Vec<Question> = open.cloned().collect();
        texts.write(&open, &first_file(out))?;
    }
    match labels {
        Some(labels) => report(&labels.write(&questions, out)?, out, session),
        None => tell_first_round(questions.len(), out, session),
    }
}

fn tell_first_round(questions: usize, out: &Path, session: &Session<'_>) -> Result<()> {
    let first = first_file(out);
    match session.json {
        true => output::json(&json!({"questions": questions, "first": first})),
        false => output::line(format!(
            "first texts about {questions} questions in {}; run the command of each part again for its labels",
            first.display()
        )),
    }
}

fn report(labeled: &[SourceRecord], out: &Path, session: &Session<'_>) -> Result<()> {
    records::report(labeled, out, session.json, |table| {
        show(&summarize_sources(labeled), out, table)
    })
}

/// Opens the named corpora, or else that of the settings.
fn corpora(setup: Setup<'_>, model: &Arc<dyn LanguageModel>) -> Result<Vec<NamedCorpus>> {
    setup.settings.corpus()?;
    let opened = setup.named_retrievers(&setup.settings.corpora(), model)?;
    let named = opened.into_iter();
    Ok(named
        .map(|(name, retriever)| NamedCorpus { name, retriever })
        .collect())
}

fn show(summary: &SourceSummary, out: &Path, table: &Path) -> Result<()> {
    let mut rows = vec![
        ("questions".to_owned(), summary.n.to_string()),
        ("failed".to_owned(), summary.failed.to_string()),
    ];
    if summary.unlabeled > 0 {
        let unlabeled = summary.unlabeled.to_string();
        rows.push(("without golden answers".to_owned(), unlabeled));
    }
    for source in &summary.sources {
        let [majority, sum, above] = [source.majority, source.sum, source.above_null].map(share);
        rows.push((
            format!("preferred: {}", source.source),
            format!("by majority {majority}, by sum {sum}; better than no context {above}"),
        ));
    }
    let changed = share(summary.changed_by_writing);
    rows.extend([
        ("rules agree".to_owned(), share(summary.agreement)),
        ("changed by writing".to_owned(), changed),
        ("per question".to_owned(), out.display().to_string()),
        ("as a table".to_owned(), table.display().to_string()),
    ]);
    output::pairs(rows)
}
