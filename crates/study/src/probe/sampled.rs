//! Probing a batch of questions: evidence, prompts, samples, and what the samples are worth.
//! Nothing is kept here: see `run`.

use ken_answer::prompt::{self, Posed};
use ken_answer::{AnswerError, Pipeline, Retrieved};
use ken_model::embedder::Embedder;
use ken_model::language::{LanguageModel, Prompt};
use ken_probe::{
    Asked, Correctness, Golden, Grouping, Sample, SampleOptions, are_right, letter, mask,
    named_choice, right_choices, sample, seed_of, types_by_entailment, types_by_meaning,
    types_by_string,
};

use super::record::{Conditions, Fingerprints, Given, ProbeRecord, ProbeSample};
use crate::dataset::Question;

/// What probing takes, and how it is done.
#[derive(Clone, Copy)]
pub struct Probe<'a> {
    /// The model that is probed, the corpus that its evidence comes from, where there is one, and
    /// how that is searched.
    pub pipeline: &'a Pipeline,
    /// The model that is asked whether answers are right, or follow from each other.
    pub judge: &'a dyn LanguageModel,
    /// Tells the meanings of answers apart; only [`Grouping::Meaning`] needs it.
    pub embedder: Option<&'a dyn Embedder>,
    /// How many samples of what kind.
    pub options: SampleOptions,
    /// The seed of all samples.
    pub seed: u64,
    /// When an answer is right.
    pub correctness: Correctness,
    /// When two answers say the same.
    pub grouping: Grouping,
}

/// One question with its different prompts, each of which is sampled once.
struct Draft<'q> {
    question: &'q Question,
    given: Given,
    prompts: Vec<Prompt>,
    /// Which of the prompts belongs to each condition.
    asked: Conditions<Option<usize>>,
}

impl Probe<'_> {
    /// What everything is measured with.
    pub(super) fn fingerprints(&self) -> Fingerprints {
        Fingerprints {
            model: self.pipeline.model().fingerprint().to_owned(),
            corpus: self
                .pipeline
                .retriever()
                .map(|retriever| retriever.back_end().fingerprint()),
            prompt: prompt::fingerprint(),
        }
    }

    /// Probes questions, all of them at once; `None` for one on which the model was stopped.
    ///
    /// # Errors
    /// A question that does not fit, a failing model, embedder or index.
    pub(super) fn batch(
        &self,
        questions: &[&Question],
    ) -> Result<Vec<Option<ProbeRecord>>, AnswerError> {
        let drafts = self.drafts(questions)?;
        let asked: Vec<Asked<'_>> = drafts
            .iter()
            .flat_map(|draft| {
                let seed = seed_of(self.seed, &draft.question.id);
                draft
                    .prompts
                    .iter()
                    .map(move |prompt| Asked { prompt, seed })
            })
            .collect();
        let mut sampled = sample(self.pipeline.model(), &asked, self.options)?.into_iter();
        let sampled: Vec<Option<Vec<Vec<Sample>>>> = drafts
            .iter()
            .map(|draft| {
                let own: Vec<_> = sampled.by_ref().take(draft.prompts.len()).collect();
                own.into_iter().collect()
            })
            .collect();
        let mut correct = self.correct(&drafts, &sampled)?.into_iter();
        let fingerprints = self.fingerprints();
        let mut records = Vec::with_capacity(drafts.len());
        for (draft, sampled) in drafts.into_iter().zip(sampled) {
            let Some(sampled) = sampled else {
                records.push(None);
                continue;
            };
            let mut judged: Vec<Vec<ProbeSample>> = Vec::with_capacity(sampled.len());
            for samples in sampled {
                let types = self.types(draft.question, &samples)?;
                let judge = |(sample, answer_type): (Sample, usize)| ProbeSample {
                    text: sample.text,
                    logprob: sample.logprob,
                    tokens: sample.tokens,
                    correct: match draft.given.unjudged {
                        Some(_) => None,
                        None => correct.next(),
                    },
                    answer_type,
                };
                judged.push(samples.into_iter().zip(types).map(judge).collect());
            }
            let samples = draft
                .asked
                .map(|prompt| prompt.map(|prompt| judged[prompt].clone()));
            records.push(Some(ProbeRecord::new(
                draft.question,
                draft.given,
                samples,
                fingerprints.clone(),
            )));
        }
        Ok(records)
    }

    /// Finds the evidence and puts the questions into words.
    fn drafts<'q>(&self, questions: &[&'q Question]) -> Result<Vec<Draft<'q>>, AnswerError> {
        let posed: Vec<Posed<'_>> = questions
            .iter()
            .map(|question| Posed {
                question: question.question.trim(),
                choices: &question.choices,
            })
            .collect();
        if posed.iter().any(|posed| posed.question.is_empty()) {
            return Err(AnswerError::EmptyQuestion);
        }
        let evidence: Vec<Option<Vec<Retrieved>>> = match self.pipeline.retriever() {
            Some(_) => {
                let found = self.pipeline.evidence(&posed)?;
                found.into_iter().map(Some).collect()
            }
            None => vec![None; posed.len()],
        };
        Ok(questions
            .iter()
            .zip(posed)
            .zip(evidence)
            .map(|((question, posed), evidence)| draft(question, posed, evidence))
            .collect())
    }

    /// Whether each sample is right, of the questions where that can be told, in their order.
    fn correct(
        &self,
        drafts: &[Draft<'_>],
        sampled: &[Option<Vec<Vec<Sample>>>],
    ) -> Result<Vec<bool>, AnswerError> {
        let answers: Vec<(&str, Golden<'_>)> = drafts
            .iter()
            .zip(sampled)
            .filter(|(draft, _)| draft.given.unjudged.is_none())
            .flat_map(|(draft, sampled)| {
                let golden = golden(draft.question);
                let samples = sampled.iter().flatten().flatten();
                samples.map(move |sample| (sample.text.as_str(), golden))
            })
            .collect();
        Ok(are_right(self.correctness, &answers, self.judge)?)
    }

    /// The answer type of each sample. Answers to a multiple-choice question are told apart by the
    /// choices that they name.
    fn types(&self, question: &Question, samples: &[Sample]) -> Result<Vec<usize>, AnswerError> {
        let texts: Vec<&str> = samples.iter().map(|sample| sample.text.as_str()).collect();
        if !question.choices.is_empty() {
            let named: Vec<String> = texts
                .iter()
                .map(|text| {
                    let choice = named_choice(text, &question.choices).and_then(letter);
                    // Not a bare letter: `A` would be an article.
                    choice.map_or_else(|| (*text).to_owned(), |letter| format!("choice {letter}."))
                })
                .collect();
            let named: Vec<&str> = named.iter().map(String::as_str).collect();
            return Ok(types_by_string(&named));
        }
        Ok(match (self.grouping, self.embedder) {
            (Grouping::Meaning { threshold }, Some(embedder)) => {
                types_by_meaning(&texts, embedder, threshold)?
            }
            (Grouping::Entailment, _) => {
                types_by_entailment(&question.question, &texts, self.judge)?
            }
            _ => types_by_string(&texts),
        })
    }
}

fn golden(question: &Question) -> Golden<'_> {
    Golden {
        answers: &question.golden_answers,
        choices: &question.choices,
    }
}

/// The prompts of a question. A prompt that comes up twice is asked once: where nothing was found,
/// or nothing was masked.
fn draft<'q>(
    question: &'q Question,
    posed: Posed<'_>,
    evidence: Option<Vec<Retrieved>>,
) -> Draft<'q> {
    let mut prompts = vec![prompt::from_memory(posed)];
    let mut given = Given {
        unjudged: golden(question).obstacle(),
        ..Given::default()
    };
    let mut asked = Conditions {
        from_self: Some(0),
        ..Conditions::default()
    };
    let mut ask = |prompt: Prompt| {
        let known = prompts.iter().position(|other| *other == prompt);
        Some(known.unwrap_or_else(|| {
            prompts.push(prompt);
            prompts.len() - 1
        }))
    };
    if let Some(mut evidence) = evidence {
        evidence.retain(|passage| passage.in_prompt);
        given.evidence = evidence.iter().map(|p| p.passage_id.clone()).collect();
        asked.corpus = ask(prompt::from_evidence(
            posed,
            &evidence.iter().collect::<Vec<_>>(),
        ));
        if given.unjudged.is_none() {
            given.masked_places = mask_all(&mut evidence, &answers_in_words(question));
            asked.masked = ask(prompt::from_evidence(
                posed,
                &evidence.iter().collect::<Vec<_>>(),
            ));
        }
    }
    Draft {
        question,
        given,
        prompts,
        asked,
    }
}

/// The golden answers as they would stand in evidence: not by letters.
fn answers_in_words(question: &Question) -> Vec<String> {
    match right_choices(&question.golden_answers, &question.choices).as_slice() {
        [] => question.golden_answers.clone(),
        right => right
            .iter()
            .map(|&at| question.choices[at].clone())
            .collect(),
    }
}

/// Masks titles and texts, and returns how many places.
fn mask_all(evidence: &mut [Retrieved], answers: &[String]) -> usize {
    let mut places = 0;
    for passage in evidence {
        for text in [&mut passage.title, &mut passage.text] {
            let masked = mask(text, answers);
            places += masked.places;
            *text = masked.text;
        }
    }
    places
}
