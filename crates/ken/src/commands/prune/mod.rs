//! `ken prune`: leaves out of a corpus what the language model knows without it.

pub(crate) mod basis;
mod collection;
pub(crate) mod remainder;
mod report;
mod score;

use std::path::Path;

use ken_answer::Rerank;
use ken_corpus::{Active, CorpusInfo, Writer};
use ken_eval::{Question, is_held_out, read_questions};
use ken_index::Mode;
use ken_lab::pruning;
use ken_lab::pruning::{
    Basis, CoverageQuestion, Guarantee, GuaranteedRatio, Method, PrunePlan, read_marks, write_marks,
};
use ken_language::Role;
use ken_setup::{CorpusAddress, Settings};
use serde::Serialize;

use crate::arguments::prune::{PruneApplyArguments, PruneBasis, PruneVerb};
use crate::commands::corpus_info::show_info;
use crate::commands::records;
use crate::failure::{Failure, Result};
use crate::output;
use crate::progress::Display;
use crate::session::Session;

/// Runs a verb of `ken prune`.
pub(crate) fn run(verb: &PruneVerb, session: &Session<'_>) -> Result<()> {
    if let CorpusAddress::Milvus(address) = session.settings.corpus()? {
        return collection::run(verb, address, session);
    }
    let folder = session.settings.folder()?;
    if let PruneVerb::Apply(PruneApplyArguments { ids: Some(ids), .. }) = verb {
        let marks = read_marks(ids)?;
        Writer::open(folder)?.prune(marks)?;
        return show_info(&CorpusInfo::read(folder)?, session.json);
    }
    check_whole(session.settings)?;
    match verb {
        PruneVerb::Apply(arguments) => apply(arguments, folder, session),
        PruneVerb::Score(arguments) => score::run(arguments, folder, session),
        PruneVerb::Report(arguments) => report::run(arguments, session),
        PruneVerb::Undo => undo(folder, session.json),
    }
}

/// Restores what `ken prune apply` chose.
fn undo(folder: &Path, json: bool) -> Result<()> {
    let before = CorpusInfo::read(folder)?.pruned;
    Writer::open(folder)?.replace_pruned(pruning::REASON, "", &[])?;
    let info = CorpusInfo::read(folder)?;
    if !json {
        let restored = output::counted(before.saturating_sub(info.pruned), "passage");
        output::line(match info.pruned {
            0 => format!("restored {restored}"),
            rest => format!(
                "restored {restored}; {rest} pruned by a list or a server stay so: `ken corpus rollback` restores them"
            ),
        })?;
    }
    show_info(&info, json)
}

/// Refuses some shards or documents.
fn check_whole(settings: &Settings) -> Result<()> {
    if settings.active == Active::All && settings.filters.is_empty() {
        return Ok(());
    }
    Err(Failure::refused(
        "part_of_corpus",
        "a ratio is one of the whole corpus, not of some shards or documents",
        "leave --scale and --filter out",
    ))
}

/// The error for passages that are scored without saying how many go.
fn no_ratio() -> Failure {
    Failure::refused(
        "no_ratio",
        "how much to prune is not given",
        "add --ratio R, or --max-coverage-loss E --questions FILE",
    )
}

/// Runs `ken prune apply` by a method, or by scores that were kept.
fn apply(arguments: &PruneApplyArguments, folder: &Path, session: &Session<'_>) -> Result<()> {
    let ranking = &arguments.basis.ranking;
    let basis = match arguments.score {
        Some(_) => Basis::new(None, None)?,
        None => basis::read(ranking)?,
    };
    let method = basis::method(ranking)?;
    if arguments.ratio.is_none() && arguments.max_coverage_loss.is_none() {
        return Err(no_ratio());
    }
    // From here on nobody else changes the corpus.
    let writer = (!arguments.dry_run).then(|| Writer::open(folder));
    let writer = writer.transpose()?;
    let reader = basis::reader(&basis, session)?;
    let plan = match &arguments.score {
        Some(name) => basis::scored(folder, Method::Kept { name }, &basis, session)?,
        None => basis::plan(folder, method, &basis, reader.as_deref(), session)?,
    };
    let (ratio, kept) = match (arguments.ratio, arguments.max_coverage_loss) {
        (None, Some(max_loss)) => {
            let kept = guaranteed(&plan, &basis, max_loss, arguments, session)?;
            (kept.ratio.unwrap_or(0.0), Some(kept))
        }
        (ratio, _) => (ratio.unwrap_or(0.0), None),
    };
    let marks = plan.marks(ratio)?;
    if let Some(path) = &arguments.out {
        write_marks(path, &plan.named(&marks)?)?;
    }
    let generation = match writer {
        Some(mut writer) => writer.replace_pruned(pruning::REASON, &plan.reason, &marks)?,
        None => plan.index.corpus().generation(),
    };
    let applied = Applied {
        method: plan.method,
        ratio,
        passages: plan.passages(),
        pruned: marks.len(),
        least_score: marks.last().map(|mark| mark.score),
        promise: kept.as_ref(),
        generation,
        dry_run: arguments.dry_run,
    };
    let undone = "`ken prune undo` restores them, `ken corpus compact` removes them for good";
    applied.show(undone, session.json)
}

/// The questions that pruning is judged by.
fn questions(arguments: &PruneBasis, settings: &Settings) -> Result<Vec<Question>> {
    let Some(path) = &arguments.questions else {
        return Err(Failure::refused(
            "no_questions",
            "no questions are named",
            "add --questions FILE",
        ));
    };
    let mut questions = read_questions(path)?;
    if let Some(share) = arguments.held_out {
        questions.retain(|question| is_held_out(question, share));
    }
    Ok(records::sampled(questions, arguments.limit, settings))
}

/// The largest ratio that keeps the guarantee, or why there is none.
fn guaranteed(
    plan: &PrunePlan,
    basis: &Basis,
    max_loss: f64,
    arguments: &PruneApplyArguments,
    session: &Session<'_>,
) -> Result<GuaranteedRatio> {
    check_not_reranked(session.settings)?;
    // If not even the smallest ratio can go, that is why none is found.
    plan.check()?;
    let asked = asked(arguments, session)?;
    basis.check_questions(&asked)?;
    let guarantee = guarantee(max_loss, plan.passages(), arguments, session.settings);
    let progress = &mut ratios_tried();
    Ok(plan.guaranteed(&asked, guarantee, progress, session.stop)?)
}

fn check_not_reranked(settings: &Settings) -> Result<()> {
    if settings.rerank == Rerank::None {
        return Ok(());
    }
    let message =
        "what is guaranteed is guaranteed of passages as they are found, not as they are reranked";
    Err(Failure::refused(
        "rerank_promised",
        message,
        "add --rerank none, or see what a ratio does with it: `ken prune report`",
    ))
}

/// The questions of a guarantee, with vectors where searches take them.
fn asked(arguments: &PruneApplyArguments, session: &Session<'_>) -> Result<Vec<CoverageQuestion>> {
    let questions = questions(&arguments.basis, session.settings)?;
    let texts: Vec<&str> = questions
        .iter()
        .map(|question| question.question.trim())
        .collect();
    let vectors = match session.settings.mode {
        Mode::Lexical => vec![None; texts.len()],
        Mode::Dense | Mode::Hybrid => {
            let embedder = session.setup().question_embedder()?;
            let vectors = embedder.embed(&texts, Role::Query)?;
            vectors.into_iter().map(Some).collect()
        }
    };
    let asked = questions.iter().zip(vectors);
    let asked = asked.map(|(question, vector)| CoverageQuestion {
        text: question.question.trim().to_owned(),
        vector,
        golden_answers: question.answers_in_words(),
    });
    Ok(asked.collect())
}

fn guarantee(
    max_loss: f64,
    most: usize,
    arguments: &PruneApplyArguments,
    settings: &Settings,
) -> Guarantee {
    Guarantee {
        max_loss,
        confidence: arguments.confidence,
        mode: settings.mode,
        k: settings.answering().k,
        most,
    }
}

/// Shows how many ratios were tried.
fn ratios_tried() -> impl FnMut(u32) {
    let mut display = Display::new();
    move |step: u32| display.show_items("tried, of 100 ratios", step as usize, 100)
}

/// What `ken prune apply` did by a ratio, or would do.
#[derive(Serialize)]
struct Applied<'a> {
    method: &'static str,
    ratio: f64,
    passages: usize,
    pruned: usize,
    least_score: Option<f64>,
    promise: Option<&'a GuaranteedRatio>,
    generation: u64,
    dry_run: bool,
}

impl Applied<'_> {
    /// `undone` says how the passages come back.
    fn show(&self, undone: &str, json: bool) -> Result<()> {
        if json {
            return output::json(self);
        }
        let Self {
            ratio, generation, ..
        } = self;
        let done = match self.dry_run {
            true => "would prune",
            false => "pruned",
        };
        output::line(format!(
            "{done} {} of {} passages by {}{}",
            self.pruned,
            self.passages,
            self.method,
            self.least_score.map_or_else(String::new, |score| format!(
                ", of score {score:.3} and above"
            ))
        ))?;
        if let Some(kept) = self.promise {
            output::line(format!(
                "at ratio {ratio} {:.1}% of {} questions lose their answer, at most {:.1}% with the confidence guaranteed; {:.1}% find it in the whole corpus",
                100.0 * kept.loss,
                kept.questions,
                100.0 * kept.loss_bound,
                100.0 * kept.coverage
            ))?;
        }
        match self.dry_run {
            true => output::line("nothing was changed"),
            false => output::line(format!("generation {generation}; {undone}")),
        }
    }
}
