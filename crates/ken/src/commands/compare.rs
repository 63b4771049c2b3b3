//! `ken eval` with several policies: both answers to every question and what the policies decide by,
//! each taken once, and what follows from them.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use ken_answer::{Pipeline, Policy};
use ken_setup::Settings;
use ken_storage::{create_dir_all, replace};
use ken_study::compare::{
    Answered, Comparison, Difference, Known, RequiredSignals, SignalWork, Signals, measure_signals,
    to_csv, to_html, untimed,
};
use ken_study::{
    Outcome, ProbeRecord, Question, Record, ResultsFile, check_sampling, compare, read_results,
    read_settings,
};

use crate::arguments::EvalArguments;
use crate::commands::records::{self, share};
use crate::failure::{Refusal, Result};
use crate::output;
use crate::session::Session;

/// Compares policies on questions.
pub(crate) fn run(
    arguments: &EvalArguments,
    policies: &[Policy],
    questions: &[Question],
    session: &Session<'_>,
) -> Result<()> {
    if session.settings.verbalize {
        // Answers that policies have written already could not be put together with such.
        let message = "several policies cannot be compared with `verbalize`";
        return Err(Refusal::new("verbalize_compared", message)
            .hinting("add --verbalize=false, or name one policy")
            .into());
    }
    if session.settings.sources.len() > 1 {
        // What `always` answers is always from the first.
        let message = "several policies cannot be compared with several corpora";
        return Err(Refusal::new("sources_compared", message)
            .hinting("name one --corpus, or one policy")
            .into());
    }
    let probed: Vec<ProbeRecord> = match &arguments.records {
        Some(path) => {
            let probed = read_results(path)?;
            // Samples are kept for later policies too, so those of these need not take any.
            check_sampling(&read_settings(path)?)?;
            probed
        }
        None => Vec::new(),
    };
    let mut pipeline = session.setup().pipeline_for(true, policies)?;
    let known = Known::of(&probed, session.settings.samples, &pipeline)?;
    let folder = records::out(arguments.out.as_ref(), &arguments.questions, "policies");
    create_dir_all(&folder)?;
    let work = Work {
        folder: &folder,
        questions,
        settings: session.settings,
        batch: arguments.batch,
        stop: session.stop,
    };
    let never = work.answers(&mut pipeline, Policy::Never)?;
    let always = work.answers(&mut pipeline, Policy::Always)?;
    let signals = work.signals(&pipeline, &RequiredSignals::by(policies), &known)?;
    let answered: Vec<Answered<'_>> = never
        .iter()
        .zip(&always)
        .zip(&signals)
        .map(|((never, always), signals)| Answered {
            never,
            always,
            signals: Some(signals),
        })
        .collect();
    let comparison = compare(policies, &answered, session.settings.seed);
    let name = arguments.questions.file_name().unwrap_or_default();
    let title = format!("Policies on {}", name.to_string_lossy());
    work.write("policies.csv", &to_csv(&comparison))?;
    work.write("report.html", &to_html(&title, &comparison, &probed))?;
    if session.json {
        return output::json(&comparison);
    }
    show(&comparison, &folder)?;
    let knows = |question: &&Question| {
        let router = pipeline.router();
        router.is_some_and(|(router, _)| router.knows(&question.question))
    };
    match questions.iter().filter(knows).count() {
        0 => Ok(()),
        known => output::line(format!(
            "router: it was learned from {known} of these questions, on which it looks better than it is"
        )),
    }
}

/// What every step of a comparison works with.
struct Work<'a> {
    folder: &'a Path,
    questions: &'a [Question],
    settings: &'a Settings,
    batch: NonZeroUsize,
    stop: &'a AtomicBool,
}

impl Work<'_> {
    /// The answers without or with retrieval.
    fn answers(&self, pipeline: &mut Pipeline, policy: Policy) -> Result<Vec<Record>> {
        pipeline.set(ken_answer::AnswerSettings {
            policy,
            ..self.settings.answering()
        });
        let path = self.folder.join(format!("{policy}.jsonl"));
        let run = self.settings.identity(pipeline);
        let (batch, stop) = (self.batch, self.stop);
        self.finished(records::answers(
            pipeline,
            self.questions,
            &path,
            run,
            batch,
            stop,
        )?)
    }

    /// What the policies decide by.
    fn signals(
        &self,
        pipeline: &Pipeline,
        required: &RequiredSignals,
        known: &Known,
    ) -> Result<Vec<Signals>> {
        let path = self.folder.join("signals.jsonl");
        let mut run = self.settings.identity(pipeline);
        run.remove("policy");
        run.insert("samples".to_owned(), self.settings.samples.to_string());
        let mut file = ResultsFile::open(&path, run)?;
        let work = SignalWork {
            pipeline,
            required,
            known,
        };
        let run = records::shown(self.batch, self.stop);
        self.finished(measure_signals(work, self.questions, &mut file, run)?)
    }

    fn finished<L>(&self, outcome: Outcome<L>) -> Result<Vec<L>> {
        if !outcome.interrupted {
            return Ok(outcome.records);
        }
        Err(records::stopped(format!(
            "stopped; what there is of {} questions is in {}",
            outcome.total,
            self.folder.display()
        )))
    }

    /// Writes a file of the folder in the place of what stands there, at once or not at all.
    fn write(&self, name: &str, text: &str) -> Result<()> {
        Ok(replace(&self.folder.join(name), text.as_bytes())?)
    }
}

fn show(comparison: &Comparison, folder: &Path) -> Result<()> {
    let one = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |v| format!("{v:.1}"));
    let difference = |difference: &Difference| match difference.interval {
        Some([low, high]) => format!("{} [{low:.3}, {high:.3}]", share(difference.em)),
        None => share(difference.em),
    };
    let names = [
        "policy",
        "EM",
        "F1",
        "retrieves",
        "calls",
        "tokens",
        "p50 ms",
        "AUROC",
        "not harming",
        "by chance",
        "against always",
        "against chance",
    ];
    let mut rows = vec![names.map(str::to_owned).to_vec()];
    for policy in &comparison.policies {
        let summary = &policy.summary;
        let tokens = summary
            .tokens
            .prompt
            .mean
            .zip(summary.tokens.completion.mean);
        rows.push(vec![
            summary.policy.clone(),
            share(summary.em),
            share(summary.f1),
            share(summary.retrieval_ratio),
            one(summary.model_calls.mean),
            one(tokens.map(|(read, written)| read + written)),
            one(summary.latency_ms.p50),
            share(policy.auroc),
            share(policy.not_harming),
            share(policy.random.em),
            difference(&policy.vs_always),
            difference(&policy.vs_random),
        ]);
    }
    output::table(&rows)?;
    output::line(format!(
        "{} questions; retrieval turns {} of them from wrong to right, {} from right to wrong",
        comparison.n,
        share(comparison.beneficial),
        share(comparison.harmful)
    ))?;
    for policy in comparison.policies.iter().filter(|one| one.unscored > 0) {
        output::line(format!(
            "{}: {} questions have no score, since the model does not tell what it takes; they retrieve",
            policy.summary.policy, policy.unscored
        ))?;
    }
    if let Some(untimed) = untimed(comparison) {
        output::line(untimed)?;
    }
    output::line(format!("report: {}", folder.join("report.html").display()))
}
