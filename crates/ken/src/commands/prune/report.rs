//! `ken prune report`: what pruning does to answers, bytes and search time. Every ratio is pruned
//! and compacted in a copy, which is removed again; the corpus itself stays as it is.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ken_answer::Policy;
use ken_corpus::{CorpusInfo, PlaceMark, Writer};
use ken_eval::{Question, Record, check_field, evaluate_pipeline, write_report};
use ken_ingest::compact;
use ken_lab::pruning::{
    Basis, CorpusCopy, Ends, PrunePlan, Pruned, PrunedRow, Unpruned, pruning_report,
};
use ken_lab::{PruningError, pruning};
use ken_language::LanguageModel;
use ken_setup::{CorpusAddress, Settings};
use serde_json::json;

use super::{basis, questions};
use crate::arguments::prune::PruneReportArguments;
use crate::commands::training_questions::{self, Taught};
use crate::commands::{provenance, records};
use crate::failure::Result;
use crate::output;
use crate::progress::Display;
use crate::session::Session;

pub(super) fn run(arguments: &PruneReportArguments, session: &Session<'_>) -> Result<()> {
    let corpus = session.settings.folder()?;
    let basis = &basis::read(&arguments.basis.ranking)?;
    let questions = questions(&arguments.basis, session.settings)?;
    if let Some(field) = &arguments.by {
        check_field(&questions, field)?;
    }
    let out = records::out(arguments.out.as_ref(), corpus, "prune-report");
    ken_storage::create_dir_all(&out)?;
    // All methods and ratios are of one state, whoever changes the corpus meanwhile.
    let whole = CorpusCopy::new(corpus, out.join("whole"))?;
    let corpus = whole.dir();
    let model = session.setup().language_model()?;
    basis.check(model.fingerprint())?;
    let taught = taught(basis, &questions, arguments.basis.held_out, &model, session)?;
    let measuring = Measuring {
        corpus,
        out: &out,
        questions: &questions,
        model: &model,
        batch: arguments.batch,
        by: arguments.by.as_deref(),
        session,
    };
    let (rows, ends) = measuring.rows(arguments, basis)?;
    let name = session.settings.folder()?.display();
    let answering = session.settings.answering();
    let [policy, mode] = [answering.policy.to_string(), answering.mode.to_string()];
    let settings = [
        ("model", model.fingerprint().to_owned()),
        ("policy", policy.clone()),
        ("k", answering.k.to_string()),
        ("mode", mode.clone()),
        ("seed", session.settings.seed.to_string()),
    ];
    let settings = settings.map(|(name, value)| (name.to_owned(), value));
    let report = pruning_report(&format!("Pruning {name}"), ends.as_ref(), &rows)
        .measured_with(provenance::of(settings.into(), session.given));
    write_report(&report, &out)?;
    if session.json {
        return output::json(&json!({
            "n": questions.len(),
            "k": answering.k,
            "mode": mode,
            "policy": policy,
            "always_unpruned": ends.as_ref().map(|ends| &ends.whole),
            "no_corpus": ends.as_ref().map(|ends| &ends.none),
            "rows": rows,
            "taught": taught,
        }));
    }
    output::report(&report)?;
    training_questions::show(&taught)?;
    output::line(format!(
        "{} questions; the corpus is unchanged; answers: {}; report: {}",
        questions.len(),
        out.display(),
        out.join("report.html").display()
    ))
}

/// What was taught some of the questions: what passages are pruned by, and all that answers.
fn taught(
    basis: &Basis,
    questions: &[Question],
    held_out: Option<f64>,
    model: &Arc<dyn LanguageModel>,
    session: &Session<'_>,
) -> Result<Vec<Taught>> {
    let asked = questions.iter().map(|question| question.question.as_str());
    let pruner = [("pruner", basis.taught(asked))];
    let mut all = training_questions::checked(pruner, held_out, questions.len())?;
    let pipeline = session.setup().pipeline_by(Arc::clone(model))?;
    let policies = [session.settings.answering().policy];
    all.extend(training_questions::taught(
        questions, held_out, &pipeline, &policies, session,
    )?);
    Ok(all)
}

/// The whole corpus, compacted, and the questions answered from it.
struct Whole {
    info: CorpusInfo,
    /// Under the policy of the report.
    same: Vec<Record>,
    /// Always retrieving.
    always: Vec<Record>,
    /// Without any retrieval, as if all had gone.
    never: Vec<Record>,
}

impl Whole {
    /// Nothing has gone from it.
    fn unpruned_by(&self, method: &'static str, ratio: f64) -> Pruned {
        Pruned {
            method,
            ratio,
            pruned: 0,
            passages: self.info.passages,
            bytes: self.info.bytes,
        }
    }

    fn answers(&self) -> Unpruned<'_> {
        Unpruned {
            same: &self.same,
            always: &self.always,
        }
    }
}

/// What every ratio is measured with.
struct Measuring<'a> {
    corpus: &'a Path,
    out: &'a Path,
    questions: &'a [Question],
    model: &'a Arc<dyn LanguageModel>,
    batch: NonZeroUsize,
    by: Option<&'a str>,
    session: &'a Session<'a>,
}

impl Measuring<'_> {
    /// What every method does at every ratio, and both ends of that.
    fn rows(
        &self,
        arguments: &PruneReportArguments,
        basis: &Basis,
    ) -> Result<(Vec<PrunedRow>, Option<Ends>)> {
        let mut rows: Vec<PrunedRow> = Vec::new();
        let mut whole: Option<Whole> = None;
        for &method in &arguments.basis.ranking.method {
            let model = Some(self.model.as_ref());
            let plan = basis::plan(self.corpus, method, basis, model, self.session)?;
            // Without pruning all methods are equal.
            let whole = match &mut whole {
                Some(whole) => whole,
                none => none.insert(self.whole(&plan)?),
            };
            for &ratio in &arguments.ratios {
                rows.push(self.row(&plan, ratio, whole)?);
            }
        }
        let ends = whole.as_ref().map(|whole| self.ends(whole));
        Ok((rows, ends))
    }

    /// The corpus without anything pruned by score, and the answers from it.
    fn whole(&self, plan: &PrunePlan) -> Result<Whole> {
        let place = self.out.join("copy");
        let (copy, marks) = pruned_copy(self.corpus, place, plan, 0.0, self.session)?;
        let identity = plan.identity_without(&marks);
        let policy = self.session.settings.answering().policy;
        let same = self.answered(copy.dir(), "unpruned", &identity, policy)?;
        let under = |name: &str, other: Policy| match policy == other {
            true => Ok(same.clone()),
            false => self.answered(copy.dir(), name, &identity, other),
        };
        Ok(Whole {
            info: CorpusInfo::read(copy.dir())?,
            always: under("always-unpruned", Policy::ALWAYS)?,
            never: under("never", Policy::NEVER)?,
            same,
        })
    }

    /// What always retrieving from the whole corpus does, and having none.
    fn ends(&self, whole: &Whole) -> Ends {
        let unpruned = whole.unpruned_by("unpruned", 0.0);
        let none = Pruned {
            method: "no corpus",
            ratio: 1.0,
            pruned: usize::try_from(whole.info.passages).unwrap_or(usize::MAX),
            passages: 0,
            bytes: 0,
        };
        Ends {
            whole: self.measured(unpruned, Policy::ALWAYS, &whole.always, whole),
            none: self.measured(none, Policy::NEVER, &whole.never, whole),
        }
    }

    fn row(&self, plan: &PrunePlan, ratio: f64, whole: &Whole) -> Result<PrunedRow> {
        let method = plan.method;
        let policy = self.session.settings.answering().policy;
        if plan.marks(ratio)?.is_empty() {
            let pruned = whole.unpruned_by(method, ratio);
            return Ok(self.measured(pruned, policy, &whole.same, whole));
        }
        let place = self.out.join("copy");
        let (copy, marks) = pruned_copy(self.corpus, place, plan, ratio, self.session)?;
        let identity = plan.identity_without(&marks);
        let answers = self.answered(copy.dir(), &format!("{method}-{ratio}"), &identity, policy)?;
        let info = CorpusInfo::read(copy.dir())?;
        let pruned = Pruned {
            method,
            ratio,
            pruned: marks.len(),
            passages: info.passages,
            bytes: info.bytes,
        };
        Ok(self.measured(pruned, policy, &answers, whole))
    }

    fn measured(
        &self,
        pruned: Pruned,
        policy: Policy,
        answers: &[Record],
        whole: &Whole,
    ) -> PrunedRow {
        PrunedRow::new(
            pruned,
            &policy.to_string(),
            (self.questions, answers),
            whole.answers(),
            self.by,
            self.session.settings.seed,
        )
    }

    /// Has the questions answered from a copy, under a policy.
    fn answered(
        &self,
        copy: &Path,
        name: &str,
        identity: &str,
        policy: Policy,
    ) -> Result<Vec<Record>> {
        let settings = Settings {
            corpus: Some(CorpusAddress::Folder(copy.to_owned())),
            policy: policy.into(),
            ..self.session.settings.clone()
        };
        let setup = self.session.setup_with(&settings);
        let pipeline = setup.pipeline_by(Arc::clone(self.model))?;
        let path = self.out.join(format!("{name}.jsonl"));
        let mut run_settings = settings.identity(&pipeline);
        run_settings.insert("corpus".to_owned(), identity.to_owned());
        let run = records::drawn(self.batch, Some(policy.to_string()), self.session);
        let outcome = evaluate_pipeline(&pipeline, self.questions, &path, run_settings, run)?;
        Ok(outcome.records)
    }
}

/// A copy of a corpus at a place, pruned by a plan and compacted, and what was pruned.
pub(crate) fn pruned_copy(
    corpus: &Path,
    place: PathBuf,
    plan: &PrunePlan,
    ratio: f64,
    session: &Session<'_>,
) -> Result<(CorpusCopy, Vec<PlaceMark>)> {
    let copy = CorpusCopy::new(corpus, place)?;
    let marks = plan.marks(ratio)?;
    let mut writer = Writer::open(copy.dir())?;
    writer.replace_pruned(pruning::REASON, &plan.reason, &marks)?;
    let mut display = Display::new();
    let label = format!("compacting at {ratio}");
    let mut progress = |step: ken_ingest::CompactProgress| {
        display.show_items(&label, step.passages, step.passages_total);
    };
    let (_, interrupted) = compact(&mut writer, &mut progress, session.stop)?;
    match interrupted {
        true => Err(PruningError::Stopped.into()),
        false => Ok((copy, marks)),
    }
}
