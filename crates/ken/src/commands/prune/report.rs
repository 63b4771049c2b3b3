//! `ken prune report`: what pruning does to answers, bytes and search time. Every ratio is pruned
//! and compacted in a copy, which is removed again; the corpus itself stays as it is.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ken_corpus::{CorpusInfo, PlaceMark, Writer};
use ken_ingest::compact;
use ken_language::LanguageModel;
use ken_setup::{CorpusAddress, Settings, Setup};
use ken_study::pruning::{self, CorpusCopy, PrunePlan, PrunedRow, pruned_to_html};
use ken_study::{PruningError, Question, Summary, evaluate_pipeline, summarize};
use serde_json::json;

use super::{basis, questions};
use crate::arguments::pruning::PruneReportArguments;
use crate::commands::records;
use crate::failure::Result;
use crate::output;
use crate::progress::Display;
use crate::session::Session;

pub(super) fn run(arguments: &PruneReportArguments, session: &Session<'_>) -> Result<()> {
    let corpus = session.settings.folder()?;
    let basis = &basis::read(&arguments.basis)?;
    let questions = questions(&arguments.basis, session.settings)?;
    let out = records::out(arguments.out.as_ref(), corpus, "prune-report");
    ken_storage::create_dir_all(&out)?;
    // All methods and ratios are of one state, whoever changes the corpus meanwhile.
    let whole = CorpusCopy::new(corpus, out.join("whole"))?;
    let corpus = whole.dir();
    let model = session.setup().language_model()?;
    basis.check(model.fingerprint())?;
    let measuring = Measuring {
        corpus,
        out: &out,
        questions: &questions,
        model: &model,
        batch: arguments.batch,
        session,
    };
    let mut rows: Vec<PrunedRow> = Vec::new();
    for &method in &arguments.basis.method {
        let plan = basis::plan(corpus, method, basis, Some(model.as_ref()), session)?;
        for &ratio in &arguments.ratios {
            // Without pruning all methods are the same.
            let known = rows.iter().find(|row| ratio == 0.0 && row.pruned == 0);
            let row = match known {
                Some(known) => PrunedRow {
                    method: plan.method,
                    ..known.clone()
                },
                None => measuring.row(&plan, ratio)?,
            };
            rows.push(row);
        }
    }
    let name = session.settings.folder()?.display();
    let page = pruned_to_html(&format!("Pruning {name}"), &rows);
    ken_storage::replace(&out.join("report.html"), page.as_bytes())?;
    if session.json {
        let answering = session.settings.answering();
        return output::json(&json!({
            "n": questions.len(),
            "k": answering.k,
            "mode": answering.mode.to_string(),
            "policy": session.settings.policy.to_string(),
            "rows": rows,
        }));
    }
    show(&rows, &questions, &out)
}

/// What every ratio is measured with.
struct Measuring<'a> {
    corpus: &'a Path,
    out: &'a Path,
    questions: &'a [Question],
    model: &'a Arc<dyn LanguageModel>,
    batch: NonZeroUsize,
    session: &'a Session<'a>,
}

impl Measuring<'_> {
    fn row(&self, plan: &PrunePlan, ratio: f64) -> Result<PrunedRow> {
        let place = self.out.join("copy");
        let (copy, marks) = pruned_copy(self.corpus, place, plan, ratio, self.session)?;
        let info = CorpusInfo::read(copy.dir())?;
        let (method, identity) = (plan.method, plan.identity_without(&marks));
        let summary = self.answered(copy.dir(), &format!("{method}-{ratio}"), &identity)?;
        Ok(PrunedRow::new(method, ratio, marks.len(), &info, &summary))
    }

    /// Has the questions answered from a copy, under the policy.
    fn answered(&self, copy: &Path, name: &str, identity: &str) -> Result<Summary> {
        let settings = Settings {
            corpus: Some(CorpusAddress::Folder(copy.to_owned())),
            ..self.session.settings.clone()
        };
        let setup = Setup {
            settings: &settings,
            ..self.session.setup()
        };
        let pipeline = setup.pipeline_by(Arc::clone(self.model))?;
        let path = self.out.join(format!("{name}.jsonl"));
        let mut run_settings = settings.identity(&pipeline);
        run_settings.insert("corpus".to_owned(), identity.to_owned());
        let policy = settings.policy.to_string();
        let run = records::drawn(self.batch, Some(policy.clone()), self.session);
        let outcome = evaluate_pipeline(&pipeline, self.questions, &path, run_settings, run)?;
        Ok(summarize(&policy, &outcome.records))
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

fn show(rows: &[PrunedRow], questions: &[Question], out: &Path) -> Result<()> {
    let ms = |value: Option<f64>| output::number(value, 2);
    let mut table = vec![output::head(
        "method|ratio|passages|coverage|EM|F1|retrieves|size|search p50 ms|p95",
    )];
    table.extend(rows.iter().map(|row| {
        vec![
            row.method.to_owned(),
            row.ratio.to_string(),
            row.passages.to_string(),
            output::share(row.coverage),
            output::share(row.em),
            output::share(row.f1),
            output::share(row.retrieval_ratio),
            output::size(row.bytes),
            ms(row.search_p50_ms),
            ms(row.search_p95_ms),
        ]
    }));
    output::table(&table)?;
    output::line(format!(
        "{} questions; the corpus is unchanged; answers: {}; report: {}",
        questions.len(),
        out.display(),
        out.join("report.html").display()
    ))
}
