//! `ken study run`: searches once, checks that all models read the same, and answers every cell.

use std::collections::BTreeMap;
use std::sync::Arc;

use ken_answer::{Pipeline, Policy};
use ken_eval::compare::{Known, RequiredSignals, SignalWork, measure_signals};
use ken_eval::{ResultsFile, RunSettings, Task};
use ken_language::LanguageModel;
use ken_scale::study::{
    Cell, CellWork, Condition, Evidence, KnownAnswers, Manifest, PASSAGES_READ, PassagesRead,
    ScalingError, as_found, passages_read, signals_file, told,
};
use ken_setup::Settings;

use super::evidence::{self, EvidenceFile};
use super::grid::{self, QuestionSet, settings_of};
use super::{part, report};
use crate::arguments::study::{NamedModel, StudyRunArguments};
use crate::commands::{parts, records};
use crate::failure::Result;
use crate::session::Session;

pub(super) fn run(arguments: &StudyRunArguments, session: &Session<'_>) -> Result<()> {
    grid::check(arguments, session.settings)?;
    let sets = grid::question_sets(arguments, session)?;
    let corpus_fingerprint = session.setup().corpus_fingerprint()?;
    let settings = grid::common(session.settings)?;
    let sets = part::begun(sets, &corpus_fingerprint, &settings, arguments, session)?;
    let (conditions, found) = evidence::find(arguments, &sets, session)?;
    let mut models = BTreeMap::new();
    let mut readers: Vec<(&NamedModel, Vec<PassagesRead>)> = Vec::new();
    for model in &arguments.model {
        let (opened, studied) = grid::opened(model, arguments, session)?;
        models.insert(model.name.clone(), studied);
        let read = marks(model, &opened, &found, &sets, session)?;
        if let Some((first, expected)) = readers.first() {
            compare(first, expected, model, &read, &found, &sets)?;
        }
        readers.push((model, read));
    }
    let datasets = sets.iter().map(|set| (set.name.clone(), set.kept.clone()));
    let manifest = Manifest {
        corpus: session.settings.corpus()?.to_string(),
        corpus_fingerprint,
        settings,
        timed: arguments.timed,
        seed: session.settings.seed,
        datasets: datasets.collect(),
        models,
        conditions,
        policies: arguments.policy.iter().map(Policy::to_string).collect(),
    };
    let folder = arguments.folder();
    manifest.added_to(&folder)?.write(&folder)?;
    for (model, read) in readers {
        answer(model, &read, &found, &sets, arguments, session)?;
    }
    match arguments.part.part {
        Some(part) => {
            let count: usize = sets.iter().map(|set| set.questions.len()).sum();
            parts::tell(part, count, Task::Answer.items(), &folder, session)
        }
        None => report::told(&folder, None, None, session),
    }
}

/// A pipeline with the settings of one model that reads the search results, or answers from memory.
fn pipeline(
    model: &Arc<dyn LanguageModel>,
    settings: &Settings,
    found: Option<(Condition, &[Evidence])>,
) -> Pipeline {
    let settings = Settings {
        k: found.map_or(settings.k, |(condition, _)| Some(condition.retrieval.k)),
        policy: match found {
            Some(_) => Policy::ALWAYS.into(),
            None => Policy::NEVER.into(),
        },
        ..settings.clone()
    };
    let mut pipeline = Pipeline::new(Arc::clone(model), None, settings.answering());
    let found = found.map(|(_, evidence)| as_found(evidence));
    pipeline.found = found.unwrap_or_default();
    pipeline
}

fn marks(
    model: &NamedModel,
    opened: &Arc<dyn LanguageModel>,
    found: &[EvidenceFile],
    sets: &[QuestionSet],
    session: &Session<'_>,
) -> Result<Vec<PassagesRead>> {
    let settings = settings_of(model, session);
    let read = found.iter().map(|one| {
        let evidence = one.evidence()?;
        let pipeline = pipeline(opened, &settings, Some((one.condition, &evidence)));
        Ok(passages_read(&pipeline, &sets[one.dataset].questions)?)
    });
    read.collect()
}

/// Refuses a model that would read other passages than the first.
fn compare(
    first: &NamedModel,
    expected: &[PassagesRead],
    model: &NamedModel,
    read: &[PassagesRead],
    found: &[EvidenceFile],
    sets: &[QuestionSet],
) -> Result<()> {
    for ((expected, read), found) in expected.iter().zip(read).zip(found) {
        let questions = &sets[found.dataset].questions;
        for ((one, other), question) in expected.iter().zip(read).zip(questions) {
            if one != other {
                let count = |texts: &[Option<String>]| -> usize {
                    let texts = texts.iter().flatten();
                    texts.map(|text| text.chars().count()).sum()
                };
                return Err(ScalingError::ReadDifferently {
                    question: question.id.clone(),
                    condition: found.condition.to_string(),
                    reader: first.name.clone(),
                    read: count(one),
                    other: model.name.clone(),
                    other_read: count(other),
                    found: one.len().max(other.len()),
                }
                .into());
            }
        }
    }
    Ok(())
}

/// Answers all cells of a model, and measures the policies' signals.
fn answer(
    model: &NamedModel,
    read: &[PassagesRead],
    found: &[EvidenceFile],
    sets: &[QuestionSet],
    arguments: &StudyRunArguments,
    session: &Session<'_>,
) -> Result<()> {
    let (opened, _) = grid::opened(model, arguments, session)?;
    let settings = settings_of(model, session);
    let cell = |set: &QuestionSet, condition: Condition| Cell {
        dataset: set.name.clone(),
        model: model.name.clone(),
        condition,
    };
    let answered = |work: &CellWork<'_>, cell: &Cell, more: RunSettings| {
        let mut identity = settings.identity(work.pipeline);
        identity.insert("timed".to_owned(), arguments.timed.to_string());
        identity.extend(more);
        let path = arguments.folder().join(cell.file());
        let run = |batch: Option<usize>| {
            let batch = batch.and_then(std::num::NonZeroUsize::new);
            let batch = batch.unwrap_or(arguments.batch);
            records::drawn(batch, Some(cell.to_string()), session)
        };
        work.answer(&path, &identity, &run)
    };
    if arguments.scales.0.contains(&0) {
        for set in sets {
            let work = CellWork {
                pipeline: &pipeline(&opened, &settings, None),
                questions: &set.questions,
                timed: set.timed,
                evidence: &[],
                known: &KnownAnswers::default(),
            };
            let cell = cell(set, Condition::FROM_MEMORY);
            answered(&work, &cell, RunSettings::new())?;
        }
    }
    let mut known: Vec<KnownAnswers> = sets.iter().map(|_| KnownAnswers::default()).collect();
    for (found, read) in found.iter().zip(read) {
        let set = &sets[found.dataset];
        let mut more = found.identity.clone();
        more.insert(PASSAGES_READ.to_owned(), told(&set.questions, read));
        let evidence = found.evidence()?;
        let work = CellWork {
            pipeline: &pipeline(&opened, &settings, Some((found.condition, &evidence))),
            questions: &set.questions,
            timed: set.timed,
            evidence: &evidence,
            known: &known[found.dataset],
        };
        let records = answered(&work, &cell(set, found.condition), more)?;
        known[found.dataset].add(&records, &evidence);
    }
    signals(model, opened, sets, arguments, session)
}

/// Measures the policies' signals, once for all scales.
fn signals(
    model: &NamedModel,
    opened: Arc<dyn LanguageModel>,
    sets: &[QuestionSet],
    arguments: &StudyRunArguments,
    session: &Session<'_>,
) -> Result<()> {
    let mut policies = arguments.policy.iter();
    if policies.all(|policy| policy.signal().is_none()) {
        return Ok(());
    }
    let settings = settings_of(model, session);
    let setup = session.setup_with(&settings);
    let pipeline = setup.pipeline_for(Some(opened), true, &arguments.policy)?;
    let required = RequiredSignals::by(&arguments.policy, None, &pipeline);
    for set in sets {
        let path = signals_file(&set.name, &model.name);
        let path = arguments.folder().join(path);
        let mut identity = settings.identity(&pipeline);
        for varied in ["policy", "k", "corpus"] {
            identity.remove(varied);
        }
        identity.insert("samples".to_owned(), settings.samples.to_string());
        let mut file = ResultsFile::open(&path, identity)?;
        let work = SignalWork {
            pipeline: &pipeline,
            required: &required,
            known: &Known::default(),
        };
        let run = records::drawn(arguments.batch, None, session);
        measure_signals(work, &set.questions, &mut file, run)?.complete(&path)?;
    }
    Ok(())
}
