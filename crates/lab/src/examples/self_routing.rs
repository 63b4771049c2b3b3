//! Training examples for self-routing: choosing the source of knowledge, verbalizing, and answering from either
//! (SR-RAG, section 3.3).

use std::collections::{BTreeMap, BTreeSet};

use ken_answer::prompt::{QuestionPrompt, choose_source, from_known, from_memory, from_passage};
use ken_diagnostic::Action;
use ken_eval::split::AboutSubject;
use ken_eval::statistics::mean;
use ken_language::{Prompt, Sourced, named};
use ken_model::decoder::{Checkpoint, DecoderError, SourceTokens};
use ken_train::{Objective, Preference, Sequence};

use super::error::ExamplesError;
use crate::label::{Context, SELF, SourceLabel, SourceRecord};

/// The rule by which ratings of sources give the preferred one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LabelRule {
    /// The source of most of the most helpful contexts (section 3.3).
    Majority,
    /// The source with the largest sum of likelihoods (appendix B.1).
    #[default]
    Sum,
}

named! {
    LabelRule, "rule",
    LabelRule::Majority => "majority",
    LabelRule::Sum => "sum",
}

impl SourceRecord {
    /// The preferred source by a rule; `None` without a label.
    pub fn preferred_by(&self, rule: LabelRule) -> Option<&str> {
        let preferred = self.preferred.as_ref()?;
        Some(match rule {
            LabelRule::Majority => &preferred.majority,
            LabelRule::Sum => &preferred.sum,
        })
    }

    /// The share of each source in the sum of likelihoods; equal if all are impossible.
    pub(crate) fn shares(&self) -> BTreeMap<String, f64> {
        shares_of(&self.sources, |source| source.log_sum)
    }

    /// The shares of the golden answer's likelihood without retrieval and with the first passage of each corpus, and
    /// the source with the largest share; of equals, the model itself. These label selective retrieval, which
    /// verbalizes nothing (SR-RAG, section 4.1). `None` without a label or null context.
    fn plain_shares(&self) -> Option<(&str, BTreeMap<String, f64>)> {
        let null = self.preferred.as_ref().and(self.null_logprob)?;
        let shares = shares_of(&self.sources, |source| {
            let mut contexts = self.contexts.iter();
            let first = contexts.find(|context| context.source == source.source);
            match source.source.as_str() {
                SELF => null,
                _ => first.map_or(f64::NEG_INFINITY, |context| context.logprob),
            }
        });
        let each = self.sources.iter().map(|source| source.source.as_str());
        let preferred = each.reduce(|best, next| match shares[next] > shares[best] {
            true => next,
            false => best,
        })?;
        Some((preferred, shares))
    }

    /// The likelihood of the golden answer from what the model knows, and from the first passage of a corpus. What
    /// the model knows is a random one of its texts or, without verbalization, the question alone.
    fn likelihoods(&self, verbalizes: bool) -> Option<[f64; 2]> {
        let (own, found): (Vec<&Context>, Vec<&Context>) =
            self.contexts.iter().partition(|c| c.source == SELF);
        let own: Vec<f64> = own.iter().map(|c| c.logprob.exp()).collect();
        let from_self = match verbalizes {
            true => mean(&own),
            false => self.null_logprob.map(f64::exp),
        };
        Some([from_self?, found.first()?.logprob.exp()])
    }

    /// The most and the least helpful context of a source: c+ and c-.
    fn extremes(&self, source: &str) -> Option<(&Context, &Context)> {
        let label = self.sources.iter().find(|label| label.source == source)?;
        let of = |place: Option<usize>| self.contexts.get(place?);
        Some((of(label.best)?, of(label.worst)?))
    }
}

/// The likelihoods of sources, from their logarithms, as shares of their sum; equal if all are impossible.
fn shares_of(
    sources: &[SourceLabel],
    log_likelihood: impl Fn(&SourceLabel) -> f64,
) -> BTreeMap<String, f64> {
    let most = sources
        .iter()
        .map(&log_likelihood)
        .fold(f64::NEG_INFINITY, f64::max);
    let likelihood = |source: &SourceLabel| match most.is_finite() {
        true => (log_likelihood(source) - most).exp(),
        false => 1.0,
    };
    let total: f64 = sources.iter().map(likelihood).sum();
    let share = |source: &SourceLabel| (source.source.clone(), likelihood(source) / total);
    sources.iter().map(share).collect()
}

/// How to make the training examples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoutingExampleOptions {
    /// The rule for the preferred source, if the model verbalizes.
    pub rule: LabelRule,
    /// Whether the model learns to write what it knows before it answers from that. Otherwise it only learns whether
    /// to retrieve: the baseline of selective retrieval (Selective-RAG), labeled by the likelihood of the answer
    /// without and with retrieval.
    pub verbalizes: bool,
}

/// A question with its preferred source.
#[derive(Debug, Clone, PartialEq)]
pub struct RoutingExample {
    /// The question's id.
    pub id: String,
    /// The question.
    pub question: String,
    /// What it is about.
    subject: String,
    /// Its choices, if it is multiple-choice.
    pub choices: Vec<String>,
    /// `self`, or the name of a corpus.
    pub source: String,
    /// The likelihood in `[0, 1]` of the golden answer from what the model knows, in the form in which it will
    /// answer, and from the first passage of a corpus. `None` if it was not measured.
    pub(crate) likelihoods: Option<[f64; 2]>,
    /// The question alone.
    asked: Sourced,
    /// The question with the most helpful context of the source.
    helped: Sourced,
    /// The question with the least helpful of the model's texts, if the model is the source and the two texts differ.
    unhelped: Option<Sourced>,
    /// The golden answer.
    answer: String,
    /// The share of each source in the sum of likelihoods.
    shares: BTreeMap<String, f64>,
}

impl AboutSubject for RoutingExample {
    fn subject(&self) -> &str {
        &self.subject
    }
}

/// Examples for self-routing.
#[derive(Debug, Clone, PartialEq)]
pub struct Routing {
    /// The training examples.
    pub examples: Vec<RoutingExample>,
    /// The names of the corpora, in alphabetical order.
    pub corpora: Vec<String>,
}

/// The training examples of labeled questions. `model` is the fingerprint of the model to train.
///
/// # Errors
/// Records without labels, of several models or of a different one, or that all prefer one source.
pub fn routing_examples(
    records: &[SourceRecord],
    making: RoutingExampleOptions,
    model: &str,
) -> Result<Routing, ExamplesError> {
    let mut examples = Vec::new();
    let mut fingerprint = None;
    for record in records {
        let Some(example) = example(record, making) else {
            continue;
        };
        match fingerprint {
            None => fingerprint = Some(&record.fingerprint),
            Some(first) if *first != record.fingerprint => return Err(ExamplesError::MixedRecords),
            Some(_) => {}
        }
        examples.push(example);
    }
    let fingerprint = fingerprint.ok_or(ExamplesError::NothingToLearn {
        records: records.len(),
        labeled_by: Action::LabelSources,
    })?;
    if fingerprint.model != model {
        return Err(ExamplesError::OtherModel {
            expected: fingerprint.model.clone(),
            received: model.to_owned(),
        });
    }
    let sources: BTreeSet<&str> = examples.iter().map(|e| e.source.as_str()).collect();
    if let [only] = sources.into_iter().collect::<Vec<_>>().as_slice() {
        return Err(ExamplesError::OneClass {
            questions: examples.len(),
            source_name: (*only).to_owned(),
        });
    }
    Ok(Routing {
        corpora: fingerprint.corpora.keys().cloned().collect(),
        examples,
    })
}

fn example(record: &SourceRecord, making: RoutingExampleOptions) -> Option<RoutingExample> {
    let question_prompt = QuestionPrompt::new(&record.question, &record.choices);
    let (source, shares) = match making.verbalizes {
        true => (record.preferred_by(making.rule)?, record.shares()),
        false => record.plain_shares()?,
    };
    let (best, worst) = record.extremes(source)?;
    let read = |context: &Context| -> Option<Sourced> {
        let prompt: Prompt = match context.source.as_str() {
            SELF if !making.verbalizes => from_memory(question_prompt),
            SELF => from_known(question_prompt, &context.text),
            corpus => from_passage(question_prompt, corpus, &context.title, &context.text),
        };
        prompt.sourced
    };
    let is_choice = making.verbalizes && source == SELF && best.text.trim() != worst.text.trim();
    Some(RoutingExample {
        id: record.id.clone(),
        question: record.question.clone(),
        subject: record.subject().to_owned(),
        choices: record.choices.clone(),
        source: source.to_owned(),
        likelihoods: record.likelihoods(making.verbalizes),
        asked: choose_source(question_prompt).sourced?,
        helped: read(best)?,
        unhelped: read(worst).filter(|_| is_choice),
        answer: record.golden_answer.clone()?,
        shares,
    })
}

/// A training example as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextExample {
    /// A text in segments, some of which are learned.
    Imitate {
        /// The segments, each with whether it is learned.
        segments: Vec<(String, bool)>,
    },
    /// Two texts after a prompt, the first of which is preferred.
    Prefer {
        /// The prompt.
        prompt: String,
        /// The preferred text.
        chosen: String,
        /// The other.
        rejected: String,
    },
}

/// What a stage trains.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RoutingStage {
    /// To choose the source, to write the most helpful text if the source is the model itself, and to answer from it
    /// (Eq. 4).
    Imitate,
    /// To choose and to answer, and to prefer the most helpful text to the least helpful (Eq. 5).
    Prefer {
        /// The strength of the preference, DPO's beta.
        beta: f64,
    },
}

impl RoutingExample {
    /// The training examples of a stage as text, for other training tools: the text to imitate and, in the second
    /// stage, the preference if the two texts differ. `None` if the vocabulary has no names for the marks.
    pub fn texts(
        &self,
        checkpoint: &Checkpoint,
        tokens: &SourceTokens,
        stage: RoutingStage,
    ) -> Option<Vec<TextExample>> {
        let helped = checkpoint.sourced_text(tokens, &self.helped)?;
        let answer = format!(" {}\n", self.answer);
        let (question, source) = (&helped.question, &helped.source);
        let (knowledge, asks) = (&helped.knowledge, &helped.answer);
        let segments = match (self.source == SELF, stage) {
            // Everything after the question is learned, except the line that asks for the answer.
            (true, RoutingStage::Imitate) => vec![
                (question.clone(), false),
                (format!("{source}{knowledge}"), true),
                (asks.clone(), false),
            ],
            _ => vec![
                (question.clone(), false),
                (source.clone(), true),
                (format!("{knowledge}{asks}"), false),
            ],
        };
        let segments = [segments, vec![(answer, true)]].concat();
        let mut examples = vec![TextExample::Imitate { segments }];
        if let (RoutingStage::Prefer { .. }, Some(unhelped)) = (stage, &self.unhelped) {
            examples.push(TextExample::Prefer {
                prompt: format!("{question}{source}"),
                chosen: knowledge.clone(),
                rejected: checkpoint.sourced_text(tokens, unhelped)?.knowledge,
            });
        }
        Some(examples)
    }

    /// The training examples as token sequences; none if they do not fit into the model. With `soft`, each source is
    /// a target with its share of the sum of likelihoods as weight; otherwise only the preferred one is.
    ///
    /// # Errors
    /// A text that the tokenizer refuses.
    pub fn objectives(
        &self,
        checkpoint: &Checkpoint,
        tokens: &SourceTokens,
        stage: RoutingStage,
        soft: bool,
    ) -> Result<Vec<Objective>, DecoderError> {
        let helped = checkpoint.sourced(tokens, &self.helped)?;
        let output = checkpoint.output(&self.answer)?;
        let all = [helped.concat(), output.clone()].concat();
        let context = checkpoint.config().context;
        if all.len() > context {
            return Ok(Vec::new());
        }
        let question = checkpoint.sourced(tokens, &self.asked)?.question;
        let asked = question.len();
        let share = |source: &str| self.shares.get(source).copied().unwrap_or_default() as f32;
        // The source, the knowledge with its end, and the answer have a loss each, which is a mean over their tokens.
        let is_own = self.source == SELF && stage == RoutingStage::Imitate;
        let text = if is_own {
            helped.knowledge.len() + 1
        } else {
            0
        };
        let mut weights = vec![0.0; all.len()];
        for (first, length) in [
            (asked, 1),
            (asked + 1, text),
            (all.len() - output.len(), output.len()),
        ] {
            weights[first..first + length].fill(1.0 / length as f32);
        }
        if soft {
            weights[asked] = share(&self.source);
        }
        let mut objectives = vec![Objective::Imitate(Sequence {
            tokens: all,
            weights,
        })];
        let corpora = tokens.corpora.iter();
        let of_corpora = corpora.map(|corpus| (corpus.name.as_str(), corpus.token));
        let others = std::iter::once((SELF, tokens.own)).chain(of_corpora);
        let others = others.filter(|&(source, _)| soft && source != self.source);
        for (source, token) in others {
            let mut sequence = Sequence::completion(&question, &[token]);
            sequence.weights[asked] = share(source);
            objectives.push(Objective::Imitate(sequence));
        }
        if let (RoutingStage::Prefer { beta }, Some(unhelped)) = (stage, &self.unhelped) {
            let preference = Preference {
                chosen: written(checkpoint, tokens, &self.helped)?,
                rejected: written(checkpoint, tokens, unhelped)?,
            };
            if preference.rejected.tokens.len() <= context {
                objectives.push(Objective::Prefer { preference, beta });
            }
        }
        Ok(objectives)
    }
}

/// The knowledge with its end, as the model writes it after the question and the source.
fn written(
    checkpoint: &Checkpoint,
    tokens: &SourceTokens,
    sourced: &Sourced,
) -> Result<Sequence, DecoderError> {
    let read = checkpoint.sourced(tokens, sourced)?;
    let prompt = [read.question, read.source].concat();
    let text = [read.knowledge, vec![tokens.end_of_knowledge]].concat();
    Ok(Sequence::completion(&prompt, &text))
}
