//! `ken tune`: the policy that is right for a model, a corpus and its questions, chosen from a few and written into
//! `ken.toml`.

mod show;
mod write;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ken_answer::Pipeline;
use ken_eval::compare::AnswersWork;
use ken_eval::tune::{Findings, Labels, TuneWork, calibrated_on, candidates, tell_apart, usable};
use ken_eval::{Question, default_file, read_questions};
use ken_setup::Chosen;

use crate::arguments::tune_policy::TuneArguments;
use crate::commands::{records, training_questions};
use crate::config::Key;
use crate::failure::{Failure, Result};
use crate::session::Session;

/// The questions that a policy is chosen on, and those that confirm it.
struct Asked {
    questions: Vec<Question>,
    left_out: usize,
    labels: Labels,
    confirming: Option<(PathBuf, Vec<Question>)>,
}

pub(crate) fn run(
    arguments: &TuneArguments,
    config: Option<&Path>,
    given: &[(Key, OsString)],
    session: &Session<'_>,
) -> Result<()> {
    if session.settings.abstain.is_some() {
        return Err(Failure::refused(
            "abstain_tuned",
            "answers are to be withheld by --abstain, and tune chooses when to retrieve alone",
            "leave --abstain out; `ken calibrate RECORDS --abstain SIGNAL` chooses both together",
        ));
    }
    let asked = asked(arguments, session)?;
    let mut pipeline = session.opening(|setup| setup.pipeline_for(None, true, &[]))?;
    let style = session.settings.style(pipeline.model.as_ref());
    pipeline.settings.style = style;
    asked.labels.check(style)?;
    let (findings, taught) = find(arguments, &asked, &mut pipeline, session)?;
    let written = if arguments.write {
        let guarantee = findings.tuned.guarantee.clone();
        let policy = findings.chosen().policy;
        let chosen = Chosen::of(policy, guarantee, session.settings, pipeline);
        Some(write::write(&chosen, config, given, session.settings)?)
    } else {
        None
    };
    match session.json {
        true => show::json(&findings, written.as_ref(), &taught),
        false => show::text(&findings, written.as_ref(), &taught),
    }
}

fn asked(arguments: &TuneArguments, session: &Session<'_>) -> Result<Asked> {
    let questions = records::questions(&arguments.questions, arguments.limit, session.settings)?;
    let given = questions.len();
    let (questions, labels) = usable(questions)?;
    let confirming = match &arguments.confirm {
        Some(path) => {
            let others = tell_apart(read_questions(path)?, &questions, labels)?;
            Some((path.clone(), others))
        }
        None => None,
    };
    Ok(Asked {
        left_out: given - questions.len(),
        questions,
        labels,
        confirming,
    })
}

/// Measures the candidates and chooses, and tries the chosen one on the questions that confirm it.
fn find(
    arguments: &TuneArguments,
    asked: &Asked,
    pipeline: &mut Pipeline,
    session: &Session<'_>,
) -> Result<(Findings, Vec<training_questions::Taught>)> {
    let (settings, questions) = (session.settings, &asked.questions);
    let candidates = candidates(pipeline.model.capabilities(), settings.memory);
    let taught =
        training_questions::taught(questions, None, pipeline, &candidates.policies, session)?;
    let folder = records::out(arguments.out.as_ref(), &arguments.questions, "tune");
    let begin = records::runs(arguments.batch, session);
    let work = TuneWork {
        answers: AnswersWork {
            folder: &folder,
            questions,
            policies: &candidates.policies,
            identity: &|pipeline| settings.identity(pipeline),
        },
        labels: asked.labels,
        max_loss: arguments.max_loss,
    };
    let file = arguments.questions.file_name().unwrap_or_default();
    let on = calibrated_on(file.to_string_lossy().into_owned(), pipeline);
    let tuned = work.run(pipeline, on, &begin)?;
    let confirmed = match &asked.confirming {
        Some((path, others)) => {
            let confirming = TuneWork {
                answers: AnswersWork {
                    folder: &folder.join(default_file(path, "confirmed")),
                    questions: others,
                    policies: &[tuned.rows[tuned.choice.row].policy],
                    ..work.answers
                },
                ..work
            };
            confirming.confirm(pipeline, tuned.better, &begin)?
        }
        None => None,
    };
    let findings = Findings {
        n: questions.len(),
        left_out_questions: asked.left_out,
        style: pipeline.settings.style,
        labels: asked.labels,
        max_loss: arguments.max_loss,
        candidates,
        tuned,
        confirmed,
    };
    Ok((findings, taught))
}
