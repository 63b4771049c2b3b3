//! `ken prune report`: what pruning does to answers, bytes and search time. The corpus itself stays as it is: see
//! `remainder`.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ken_answer::Policy;
use ken_eval::{Question, Record, check_field, evaluate_pipeline, write_report};
use ken_lab::pruning::{Basis, CorpusCopy, Ends, Pruned, PrunedRow, Unpruned, pruning_report};
use ken_language::LanguageModel;
use ken_setup::{CorpusAddress, Settings};
use serde_json::json;

use super::remainder::{RankedCorpus, Remainder, no_score};
use super::{basis, questions};
use crate::arguments::prune::PruneReportArguments;
use crate::commands::training_questions::{self, Taught};
use crate::commands::{provenance, records};
use crate::failure::Result;
use crate::output;
use crate::session::Session;

pub(super) fn run(arguments: &PruneReportArguments, session: &Session<'_>) -> Result<()> {
    let corpus = session.settings.corpus()?;
    let basis = &match (&arguments.score, corpus) {
        (Some(_), _) => Basis::new(None, None)?,
        (None, CorpusAddress::Milvus(_)) => return Err(no_score(corpus)),
        (None, _) => basis::read(&arguments.basis.ranking)?,
    };
    let questions = questions(&arguments.basis, session.settings)?;
    if let Some(field) = &arguments.by {
        check_field(&questions, field)?;
    }
    let name = corpus.to_string();
    let out = records::out(arguments.out.as_ref(), Path::new(&name), "prune-report");
    ken_storage::create_dir_all(&out)?;
    let copy = match corpus {
        CorpusAddress::Milvus(_) => None,
        // All methods and ratios are of one state, whoever changes the corpus meanwhile.
        _ => Some(CorpusCopy::new(
            session.settings.folder()?,
            out.join("whole"),
        )?),
    };
    let copied = copy
        .as_ref()
        .map(|copy| CorpusAddress::Folder(copy.dir().to_owned()));
    let corpus = copied.as_ref().unwrap_or(corpus);
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

/// The whole corpus, and the questions answered from it.
struct Whole {
    passages: u64,
    bytes: Option<u64>,
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
            passages: self.passages,
            bytes: self.bytes,
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
    /// A copy, or an address in Milvus.
    corpus: &'a CorpusAddress,
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
        let (mut rows, mut whole) = (Vec::new(), None);
        if let Some(name) = &arguments.score {
            let ranked = RankedCorpus::by_score(name, self.corpus, self.session)?;
            self.rows_by(&ranked, &arguments.ratios, &mut rows, &mut whole)?;
        } else {
            for &method in &arguments.basis.ranking.method {
                let (model, session) = (Some(self.model.as_ref()), self.session);
                let ranked = RankedCorpus::by_method(method, basis, model, self.corpus, session)?;
                self.rows_by(&ranked, &arguments.ratios, &mut rows, &mut whole)?;
            }
        }
        let ends = whole.as_ref().map(|whole| self.ends(whole));
        Ok((rows, ends))
    }

    /// Adds what one way of ranking does at every ratio.
    fn rows_by(
        &self,
        ranked: &RankedCorpus,
        ratios: &[f64],
        rows: &mut Vec<PrunedRow>,
        whole: &mut Option<Whole>,
    ) -> Result<()> {
        // Without pruning all methods are equal.
        let whole = match whole {
            Some(whole) => whole,
            none => none.insert(self.whole(ranked)?),
        };
        for &ratio in ratios {
            rows.push(self.row(ranked, ratio, whole)?);
        }
        Ok(())
    }

    /// The corpus without anything pruned by score, and the answers from it.
    fn whole(&self, ranked: &RankedCorpus) -> Result<Whole> {
        let left = ranked.at(0.0, self.place(), self.session)?;
        let policy = self.session.settings.answering().policy;
        let same = self.answered(&left, "unpruned", policy)?;
        let under = |name: &str, other: Policy| match policy == other {
            true => Ok(same.clone()),
            false => self.answered(&left, name, other),
        };
        Ok(Whole {
            passages: left.passages,
            bytes: left.bytes,
            always: under("always-unpruned", Policy::ALWAYS)?,
            never: under("never", Policy::NEVER)?,
            same,
        })
    }

    /// Where copies are made, one after the other.
    fn place(&self) -> PathBuf {
        self.out.join("copy")
    }

    /// What always retrieving from the whole corpus does, and having none.
    fn ends(&self, whole: &Whole) -> Ends {
        let unpruned = whole.unpruned_by("unpruned", 0.0);
        let none = Pruned {
            method: "no corpus",
            ratio: 1.0,
            pruned: usize::try_from(whole.passages).unwrap_or(usize::MAX),
            passages: 0,
            bytes: whole.bytes.map(|_| 0),
        };
        Ends {
            whole: self.measured(unpruned, Policy::ALWAYS, &whole.always, whole),
            none: self.measured(none, Policy::NEVER, &whole.never, whole),
        }
    }

    fn row(&self, ranked: &RankedCorpus, ratio: f64, whole: &Whole) -> Result<PrunedRow> {
        let method = ranked.method();
        let policy = self.session.settings.answering().policy;
        if ranked.is_whole_at(ratio)? {
            let pruned = whole.unpruned_by(method, ratio);
            return Ok(self.measured(pruned, policy, &whole.same, whole));
        }
        let left = ranked.at(ratio, self.place(), self.session)?;
        let answers = self.answered(&left, &format!("{method}-{ratio}"), policy)?;
        let pruned = Pruned {
            method,
            ratio,
            pruned: left.pruned,
            passages: left.passages,
            bytes: left.bytes,
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

    /// Has the questions answered from what is left, under a policy.
    fn answered(&self, left: &Remainder, name: &str, policy: Policy) -> Result<Vec<Record>> {
        let settings = Settings {
            policy: policy.into(),
            ..left.settings(self.session.settings)
        };
        let setup = self.session.setup_with(&settings);
        let pipeline = setup.pipeline_by(Arc::clone(self.model))?;
        let path = self.out.join(format!("{name}.jsonl"));
        let mut run_settings = settings.identity(&pipeline);
        let identity = left.identity.iter();
        run_settings.extend(identity.map(|identity| ("corpus".to_owned(), identity.clone())));
        let run = records::drawn(self.batch, Some(policy.to_string()), self.session);
        let outcome = evaluate_pipeline(&pipeline, self.questions, &path, run_settings, run)?;
        Ok(outcome.records)
    }
}
