//! `ken label mastery`: measures how much of a corpus the language model knows without it.

use std::path::Path;
use std::sync::Arc;

use ken_answer::{AnswerError, BackEnd};
use ken_eval::part::Parts;
use ken_eval::{ProbeRecord, Question, is_held_out, read_questions, read_results};
use ken_lab::{
    MasteryRecord, MasterySummary, MasteryWork, Sentence, label_mastery, mastery_of_probed,
    sample_sentences, summarize_mastery,
};
use ken_probe::Correctness;
use ken_probe::mastery::WriteOptions;

use crate::arguments::label::MasteryArguments;
use crate::commands::parts::{self, PartedWork};
use crate::commands::records;
use crate::failure::Result;
use crate::output;
use crate::session::Session;

/// The longest question, in tokens: a longer one asks for nothing that a sentence says.
const QUESTION_TOKENS: usize = 48;

pub(crate) fn run(arguments: &MasteryArguments, session: &Session<'_>) -> Result<()> {
    let corpus = session.setup().back_end()?;
    let out = records::out(arguments.out.as_ref(), &corpus.place(), "mastery.jsonl");
    if let (Some(questions), Some(probed)) = (&arguments.questions, &arguments.records) {
        let (mut questions, probed) = (read_questions(questions)?, read_results(probed)?);
        if let Some(share) = arguments.held_out {
            questions.retain(|question| !is_held_out(question, share));
        }
        return of_probed(&corpus, &questions, &probed, &out, session.json);
    }
    let limit = arguments.limit.map(Into::into);
    let sentences = sample_sentences(&corpus, limit, session.settings.seed)?;
    if sentences.is_empty() {
        let path = corpus.place();
        return Err(AnswerError::EmptyCorpus { path }.into());
    }
    let model = session.setup().language_model()?;
    let writer = match &arguments.writer {
        Some(reference) => session.setup().other_language_model(reference)?,
        None => Arc::clone(&model),
    };
    let judge = match &arguments.judge {
        Some(reference) if arguments.correct == Correctness::Judge => {
            session.setup().other_language_model(reference)?
        }
        _ => Arc::clone(&model),
    };
    let fingerprint = corpus.content();
    let work = MasteryWork {
        model: model.as_ref(),
        writer: writer.as_ref(),
        judge: judge.as_ref(),
        correctness: arguments.correct,
        corpus: &fingerprint,
        write: WriteOptions {
            answers: arguments.answers,
            pairs: arguments.pairs.get(),
            max_tokens: QUESTION_TOKENS,
        },
        max_tokens: session.settings.max_tokens(),
    };
    let settings = session.settings;
    let identity = work.identity(settings.computing(), settings.seed);
    let (part, parted) = (arguments.part.part, PartedWork::LabelMastery);
    let place = parts::place(part, out, sentences, &identity, &parted, session)?;
    let batch = arguments.batch;
    let labeled = records::resumed(&place.file(), identity, batch, session, |file, run| {
        label_mastery(&work, &place.items, file, run)
    })?;
    match place.is_told_as_part::<MasteryRecord>(session)? {
        true => Ok(()),
        false => report(&labeled, &place.out, session.json),
    }
}

/// Joins the parts of a run.
pub(crate) fn join(parts: &Parts, out: &Path, session: &Session<'_>) -> Result<()> {
    let sentences: Vec<Sentence> = parts.items()?;
    let labeled = parts
        .records::<MasteryRecord>(parts::RECORDS, &sentences)?
        .write(&sentences, out)?;
    report(&labeled, out, session.json)
}

fn report(labeled: &[MasteryRecord], out: &Path, json: bool) -> Result<()> {
    records::report(labeled, out, json, |table| {
        show(&summarize_mastery(labeled), out, table)
    })
}

/// The labels from questions that were probed.
fn of_probed(
    corpus: &BackEnd,
    questions: &[Question],
    probed: &[ProbeRecord],
    out: &Path,
    json: bool,
) -> Result<()> {
    let labels = mastery_of_probed(corpus, questions, probed)?;
    labels.keep(out, questions.len())?;
    report(&labels.records, out, json)?;
    match json {
        true => Ok(()),
        false => output::line(format!(
            "left out: {} questions that were not probed or could not be judged, {} whose answer is in no sentence of the passage that they name",
            labels.unprobed, labels.unplaced
        )),
    }
}

fn show(summary: &MasterySummary, out: &Path, table: &Path) -> Result<()> {
    let dropped = &summary.dropped;
    let interval = output::interval(summary.interval);
    let mastery = summary.mastery.map_or_else(
        || "- (no question passed the filters)".to_owned(),
        |mean| format!("{mean:.3}{interval}"),
    );
    let shares = &summary.distribution;
    let sentences = format!(
        "{}, of which {} measured, {} failed",
        summary.sentences, summary.measured, summary.failed
    );
    let questions = format!("{} requested, {} kept", summary.wanted, summary.pairs);
    let dropped = format!(
        "{} unwritten, {} unsupported, {} giving the answer away, {} with another answer, {} repeated, {} invalid",
        dropped.unwritten,
        dropped.unsupported,
        dropped.given_away,
        dropped.other_answer,
        dropped.repeated,
        dropped.invalid
    );
    let by_mastery = format!(
        "0: {}, below 0.5: {}, below 1: {}, 1: {}",
        shares.none, shares.few, shares.most, shares.all
    );
    let rows = [
        ("passages", summary.passages.to_string()),
        ("sentences", sentences),
        ("questions", questions),
        ("dropped", dropped),
        ("answered right", summary.right.to_string()),
        ("mastery", mastery),
        ("sentences by mastery", by_mastery),
        ("per sentence", out.display().to_string()),
        ("as a table", table.display().to_string()),
    ];
    output::pairs(rows)
}
