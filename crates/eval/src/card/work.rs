//! The work behind a card: both answers to each question, and the signals of the model's own answers, each in a
//! resumable file of a folder, and the card made of these.

use std::collections::BTreeSet;

use ken_answer::{Policy, Signal};
use ken_language::Capabilities;

use super::knowledge::{Card, card};
use crate::compare::{Answers, AnswersWork};
use crate::dataset::Question;

/// Most values of a field, unless they are numbers.
const VALUES: usize = 12;

/// Fields that identify a question or its passages, not its kind.
const NAMES: [&str; 2] = ["subject", "gold_passage"];

/// A card to be made.
pub struct CardWork<'a> {
    /// The questions, the policies of [`card_policies`], and the folder of answers.
    pub answers: AnswersWork<'a>,
    /// The metadata fields that group the questions; if empty, all fields with few values or with numbers.
    pub by: &'a [String],
}

impl CardWork<'_> {
    /// The card made of these answers.
    pub fn card(&self, answers: &Answers, seed: u64) -> Card {
        let AnswersWork {
            questions,
            policies,
            ..
        } = self.answers;
        let fields = match self.by {
            [] => telling_fields(questions),
            by => by.to_vec(),
        };
        card(questions, &answers.of(questions), policies, &fields, seed)
    }
}

/// The policies whose signals need neither training nor further answers, if the model reports what they need.
pub fn card_policies(model: Capabilities) -> Vec<Policy> {
    let uncertainty = [
        Signal::PERPLEXITY,
        Signal::SEQUENCE_PROBABILITY,
        Signal::MARGIN,
    ];
    let uncertainty = uncertainty.into_iter().filter(|_| model.logprobs);
    let judgment = model.score.then_some(Signal::JUDGMENT);
    let signals = uncertainty.chain(judgment);
    signals.map(|signal| Policy::above(signal, None)).collect()
}

/// The metadata fields that describe kinds of questions.
fn telling_fields(questions: &[Question]) -> Vec<String> {
    let fields: BTreeSet<&String> = questions
        .iter()
        .flat_map(|question| question.metadata.keys())
        .filter(|field| !NAMES.contains(&field.as_str()))
        .collect();
    let tells = |field: &&String| {
        let values = questions.iter().map(|question| question.value_of(field));
        let values: BTreeSet<String> = values.collect();
        let are_numbers = values.iter().all(|value| value.parse::<f64>().is_ok());
        values.len() > 1 && (values.len() <= VALUES || are_numbers)
    };
    fields.into_iter().filter(tells).cloned().collect()
}
