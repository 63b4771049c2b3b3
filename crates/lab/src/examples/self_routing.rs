//! Training examples for self-routing: choosing the source of knowledge, verbalizing, and answering
//! from either (SR-RAG, section 3.3).

use std::collections::{BTreeMap, BTreeSet};

use ken_answer::prompt::{QuestionPrompt, choose_source, from_known, from_memory, from_passage};
use ken_diagnostic::Action;
use ken_eval::split::AboutSubject;
use ken_eval::statistics::mean;
use ken_language::{Prompt, Sourced};
use ken_model::decoder::{Checkpoint, DecoderError, SourceTokens};
use ken_probe::named;
use ken_train::{Objective, Preference, Sequence};

use super::error::ExamplesError;
use crate::label::{Context, SELF, SourceLabel, SourceRecord};

/// By which rule the preferred source follows from what contexts are worth.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LabelRule {
    /// The source of most of the helpful contexts (section 3.3).
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
    /// The source that answers best by a rule; `None` where there is no label.
    #[must_use]
    pub fn preferred_by(&self, rule: LabelRule) -> Option<&str> {
        let preferred = self.preferred.as_ref()?;
        Some(match rule {
            LabelRule::Majority => &preferred.majority,
            LabelRule::Sum => &preferred.sum,
        })
    }

    /// Of the sum of likelihoods, the share of each source; the same for all where none is likely.
    pub(crate) fn shares(&self) -> BTreeMap<String, f64> {
        shares_of(&self.sources, |source| source.log_sum)
    }

    /// The same of the golden answer without retrieval, and with the first passage of each corpus; and the source
    /// with the largest share, the model itself among equals. So selective retrieval is labeled that verbalizes
    /// nothing (SR-RAG, section 4.1). `None` where there is no label, or in records that lack the null context.
    fn plain_shares(&self) -> Option<(&str, BTreeMap<String, f64>)> {
        let null = self.preferred.as_ref().and(self.null_logprob)?;
        let shares = shares_of(&self.sources, |source| {
            let mut contexts = self.contexts.iter();
            let first = contexts.find(|one| one.source == source.source);
            match source.source.as_str() {
                SELF => null,
                _ => first.map_or(f64::NEG_INFINITY, |one| one.logprob),
            }
        });
        let each = self.sources.iter().map(|one| one.source.as_str());
        let preferred = each.reduce(|best, next| match shares[next] > shares[best] {
            true => next,
            false => best,
        })?;
        Some((preferred, shares))
    }

    /// How likely the golden answer is from what the model knows and from the first passage of a corpus. What it knows
    /// is one of the texts that it wrote, by chance, or without verbalization nothing but the question.
    fn likelihoods(&self, verbalizes: bool) -> Option<[f64; 2]> {
        let (own, found): (Vec<&Context>, Vec<&Context>) =
            self.contexts.iter().partition(|one| one.source == SELF);
        let own: Vec<f64> = own.iter().map(|one| one.logprob.exp()).collect();
        let from_self = match verbalizes {
            true => mean(&own),
            false => self.null_logprob.map(f64::exp),
        };
        Some([from_self?, found.first()?.logprob.exp()])
    }

    /// The most and the least helpful context of a source: c+ and c-.
    fn extremes(&self, source: &str) -> Option<(&Context, &Context)> {
        let label = self.sources.iter().find(|one| one.source == source)?;
        let of = |place: Option<usize>| self.contexts.get(place?);
        Some((of(label.best)?, of(label.worst)?))
    }
}

/// The likelihoods of sources, given as logarithms, as shares of their sum; the same for all where none is likely.
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

/// How the training examples are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoutingExampleOptions {
    /// By which rule the preferred source follows, where the model verbalizes.
    pub rule: LabelRule,
    /// Whether the model is taught to write what it knows before it answers from that. Without it, the model
    /// only retrieves or not: the baseline of selective retrieval (Selective-RAG), which is labeled by how likely the
    /// answer is without and with retrieval.
    pub verbalizes: bool,
}

/// A question with the source that answers it best.
#[derive(Debug, Clone, PartialEq)]
pub struct RoutingExample {
    /// The question's id.
    pub id: String,
    /// The question.
    pub question: String,
    /// What it is about.
    subject: String,
    /// Its choices, where it is multiple-choice.
    pub choices: Vec<String>,
    /// `self`, or the name of a corpus.
    pub source: String,
    /// How likely the golden answer is from what the model knows, as it is going to be answered, and from the
    /// first passage of a corpus; in `[0, 1]`. `None` where it was not measured.
    pub(crate) likelihoods: Option<[f64; 2]>,
    /// The question alone.
    asked: Sourced,
    /// The question with the most helpful context of that source.
    helped: Sourced,
    /// The question with the least helpful text of the model's own, where that is the source and the
    /// two differ.
    unhelped: Option<Sourced>,
    /// The golden answer.
    answer: String,
    /// Of the sum of all likelihoods, the share of each source.
    shares: BTreeMap<String, f64>,
}

impl AboutSubject for RoutingExample {
    fn subject(&self) -> &str {
        &self.subject
    }
}

/// Examples, and what they are about.
#[derive(Debug, Clone, PartialEq)]
pub struct Routing {
    /// The training examples.
    pub examples: Vec<RoutingExample>,
    /// The names of the corpora, in the order of the alphabet.
    pub corpora: Vec<String>,
}

/// The training examples of labeled questions. `model` is the fingerprint of the one that is to be trained.
///
/// # Errors
/// Records without labels, of several models or of another one, or of which all name one source.
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
            Some(first) if *first != record.fingerprint => return Err(ExamplesError::Mixed),
            Some(_) => {}
        }
        examples.push(example);
    }
    let fingerprint = fingerprint.ok_or(ExamplesError::NoLabels {
        records: records.len(),
        labeled_by: Action::LabelSources,
    })?;
    if fingerprint.model != model {
        return Err(ExamplesError::OtherModel {
            expected: fingerprint.model.clone(),
            received: model.to_owned(),
        });
    }
    let sources: BTreeSet<&str> = examples.iter().map(|one| one.source.as_str()).collect();
    if let [only] = sources.into_iter().collect::<Vec<_>>().as_slice() {
        return Err(ExamplesError::OneSource {
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
    let question_prompt = QuestionPrompt {
        question: &record.question,
        choices: &record.choices,
    };
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
    /// A text in segments, of which some are learned.
    Imitate {
        /// The segments, each with whether it is learned.
        segments: Vec<(String, bool)>,
    },
    /// Of two texts after a prompt the first is preferred.
    Prefer {
        /// What stands before both.
        prompt: String,
        /// The preferred one.
        chosen: String,
        /// The other.
        rejected: String,
    },
}

/// What is trained at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RoutingStage {
    /// To choose the source, to write the most helpful text where that is the model itself, and to
    /// answer from it (Eq. 4).
    Imitate,
    /// To choose and to answer, and to prefer the most helpful text to the least helpful (Eq. 5).
    Prefer {
        /// How far the model may move for it.
        beta: f64,
    },
}

impl RoutingExample {
    /// The training example of a stage for tools that train elsewhere, each with its prompt as text: first what
    /// is to be written, and in the second stage, where the two differ, what is preferred to what.
    /// `None` where the vocabulary has no names for the marks.
    #[must_use]
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
            // Everything after the question is trained on but the label of the answer.
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

    /// The training example as token sequences; none where it does not fit into the model. With `soft` each
    /// source is a target with its share of the sum of likelihoods, else the preferred one alone.
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
        // The source, what the model knows with its end, and the answer: three losses, of which each
        // is a mean over its tokens.
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

/// The knowledge with its end, as it is written after the question and the source.
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
