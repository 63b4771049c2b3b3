//! A part of a study, every N-th question of each file, and joining all parts.

use std::path::Path;

use ken_eval::RunSettings;
use ken_eval::part::Parts;
use ken_scale::study::{join_parts, questions_of, rows};

use super::grid::{QuestionSet, retrievals};
use super::report;
use crate::arguments::study::StudyRunArguments;
use crate::commands::parts::{self, InWords, PartedWork, StudyOptions};
use crate::commands::provenance;
use crate::failure::Result;
use crate::session::Session;

/// The questions of this run: all, or those of the requested part, which is begun or resumed.
pub(super) fn begun(
    sets: Vec<QuestionSet>,
    corpus: &str,
    settings: &RunSettings,
    arguments: &StudyRunArguments,
    session: &Session<'_>,
) -> Result<Vec<QuestionSet>> {
    let part = arguments.part.part;
    if part.is_none() {
        return Ok(sets);
    }
    let work = PartedWork::Study(options(corpus, arguments, session));
    let all = rows(sets.iter().map(|set| (&*set.name, &set.questions[..])));
    let place = parts::place(part, arguments.out(), all, settings, &work, session)?;
    let own = sets.into_iter().map(|set| {
        let questions = questions_of(&place.items, &set.name);
        let is_timed = |id: &String| set.kept.timed.contains(id);
        let timed = questions
            .iter()
            .take_while(|question| is_timed(&question.id));
        QuestionSet {
            timed: timed.count(),
            questions,
            ..set
        }
    });
    Ok(own.collect())
}

fn options(corpus: &str, arguments: &StudyRunArguments, session: &Session<'_>) -> StudyOptions {
    let models = arguments.model.iter().map(|model| model.name.clone());
    let policies = arguments.policy.iter().copied();
    StudyOptions {
        corpus: corpus.to_owned(),
        models: models.collect(),
        parameters: arguments.parameters.iter().cloned().collect(),
        scales: arguments.scales.0.clone(),
        retrievals: retrievals(arguments, session.settings),
        policies: policies.map(InWords).collect(),
        timed: arguments.timed,
        seed: session.settings.seed,
    }
}

/// Joins the parts of a study.
pub(crate) fn join(parts: &Parts, out: &Path, session: &Session<'_>) -> Result<()> {
    join_parts(parts, out)?;
    report::joined(out, provenance::of_parts(parts), session)
}
