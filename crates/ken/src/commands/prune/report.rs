//! `ken prune report`: what pruning does to answers, bytes and search time. Every ratio is pruned
//! and compacted in a copy, which is removed again; the corpus itself stays as it is.

use std::collections::BTreeSet;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ken_corpus::{CorpusInfo, PlaceMark, Writer, join};
use ken_ingest::compact;
use ken_language::LanguageModel;
use ken_route::digest_of;
use ken_setup::{CorpusAddress, Settings, Setup};
use ken_study::pruning;
use ken_study::{Question, Summary, summarize};
use serde::Serialize;
use serde_json::json;

use super::basis::Basis;
use super::pruned::Pruned;
use super::{questions, stopped};
use crate::arguments::PruneReportArguments;
use crate::commands::records;
use crate::failure::{Context, Result};
use crate::output;
use crate::progress::Display;
use crate::session::Session;

/// What is measured at one ratio. Values are `None` where no question counts for them.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Row {
    method: &'static str,
    ratio: f64,
    /// Passages that are left.
    passages: u64,
    pruned: usize,
    /// The share of questions for which a golden answer stands in a passage that the model reads.
    coverage: Option<f64>,
    em: Option<f64>,
    f1: Option<f64>,
    /// The share of questions that retrieved.
    retrieval_ratio: Option<f64>,
    /// All files of the corpus, compacted.
    bytes: u64,
    search_p50_ms: Option<f64>,
    search_p95_ms: Option<f64>,
}

/// A copy of a corpus, removed when it is dropped.
struct Copy(PathBuf);

impl Copy {
    /// In the place of one that a killed run left.
    fn new(corpus: &Path, place: PathBuf) -> Result<Self> {
        if place.exists() {
            fs::remove_dir_all(&place).context(|| format!("cannot remove {}", place.display()))?;
        }
        let copy = Self(place);
        join(&copy.0, &[corpus.to_owned()], &mut |_| {})?;
        Ok(copy)
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next run.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs `ken prune report`.
pub(super) fn run(arguments: &PruneReportArguments, session: &Session<'_>) -> Result<()> {
    let corpus = session.settings.folder()?;
    let basis = &Basis::read(&arguments.basis)?;
    let questions = questions(&arguments.basis, session.settings)?;
    let out = records::out(arguments.out.as_ref(), corpus, "prune-report");
    ken_storage::create_dir_all(&out)?;
    // All methods and ratios are of one state, whoever changes the corpus meanwhile.
    let whole = Copy::new(corpus, out.join("whole"))?;
    let corpus = whole.0.as_path();
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
    let mut rows: Vec<Row> = Vec::new();
    for &method in &arguments.basis.method {
        let pruned = Pruned::new(corpus, method, basis, Some(model.as_ref()), session)?;
        for &ratio in &arguments.ratios {
            // Without pruning all methods are the same.
            let known = rows.iter().find(|row| ratio == 0.0 && row.pruned == 0);
            let row = match known {
                Some(known) => Row {
                    method: pruned.method,
                    ..known.clone()
                },
                None => measuring.row(&pruned, ratio)?,
            };
            rows.push(row);
        }
    }
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
    fn row(&self, pruned: &Pruned, ratio: f64) -> Result<Row> {
        let copy = Copy::new(self.corpus, self.out.join("copy"))?;
        let marks = pruned.marks(ratio)?;
        let identity = identity(pruned, &marks);
        {
            let mut writer = Writer::open(&copy.0)?;
            writer.replace_pruned(pruning::REASON, &pruned.reason, &marks)?;
            let mut display = Display::new();
            let label = format!("compacting at {ratio}");
            let mut progress = |step: ken_ingest::CompactProgress| {
                display.show_items(&label, step.passages, step.passages_total);
            };
            let (_, interrupted) = compact(&mut writer, &mut progress, self.session.stop)?;
            if interrupted {
                return Err(stopped());
            }
        }
        let info = CorpusInfo::read(&copy.0)?;
        let summary = self.answered(&copy.0, &format!("{}-{ratio}", pruned.method), &identity)?;
        let search = summary.latency_ms.stages.get("search");
        Ok(Row {
            method: pruned.method,
            ratio,
            passages: info.passages,
            pruned: marks.len(),
            coverage: summary.gold_coverage,
            em: summary.em,
            f1: summary.f1,
            retrieval_ratio: summary.retrieval_ratio,
            bytes: info.bytes,
            search_p50_ms: search.and_then(|latency| latency.p50),
            search_p95_ms: search.and_then(|latency| latency.p95),
        })
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
        let (batch, stop) = (self.batch, self.session.stop);
        let outcome =
            records::answers(&pipeline, self.questions, &path, run_settings, batch, stop)?;
        let answered = records::finished(outcome, &path)?.records;
        Ok(summarize(&settings.policy.to_string(), &answered))
    }
}

/// What a copy holds, told by what it was made from: two compactions need not give the same bytes.
fn identity(pruned: &Pruned, marks: &[PlaceMark]) -> String {
    let places = marks.iter().map(|mark| (mark.segment, mark.ordinal));
    let places: BTreeSet<(usize, usize)> = places.collect();
    format!(
        "fingerprint {} without {:016x}",
        pruned.index.corpus().fingerprint(),
        digest_of(&format!("{places:?}"))
    )
}

fn show(rows: &[Row], questions: &[Question], out: &Path) -> Result<()> {
    let ms = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |v| format!("{v:.2}"));
    let names = [
        "method",
        "ratio",
        "passages",
        "coverage",
        "EM",
        "F1",
        "retrieves",
        "size",
        "search p50 ms",
        "p95",
    ];
    let mut table = vec![names.map(str::to_owned).to_vec()];
    table.extend(rows.iter().map(|row| {
        vec![
            row.method.to_owned(),
            row.ratio.to_string(),
            row.passages.to_string(),
            records::share(row.coverage),
            records::share(row.em),
            records::share(row.f1),
            records::share(row.retrieval_ratio),
            output::size(row.bytes),
            ms(row.search_p50_ms),
            ms(row.search_p95_ms),
        ]
    }));
    output::table(&table)?;
    output::line(format!(
        "{} questions; the corpus is unchanged; answers: {}",
        questions.len(),
        out.display()
    ))
}
