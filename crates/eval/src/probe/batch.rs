//! Probing a batch of questions: evidence, prompts, samples, and their correctness and types. `run` stores the
//! records. The measurements of policies from memory are separate steps, as in answering, so that each has its own
//! time.

use std::collections::BTreeMap;

use ken_answer::prompt::{self, QuestionPrompt};
use ken_answer::{
    AnswerError, Pipeline, Retrieved, Step, draw_answers, inspect_answers, judge, rate,
};
use ken_language::{Embedder, LanguageModel, Prompt};
use ken_probe::{
    Correctness, DrawRequest, Drawn, Golden, Grouping, Sample, SampleOptions, are_right, draw,
    mask, seed_of, types_by_choice, types_by_entailment, types_by_meaning, types_by_string,
};

use super::record::{Conditions, Fingerprints, Judged, ProbeAnswer, ProbeRecord, ProbeSample};
use crate::dataset::Question;
use crate::results::RunSettings;
use crate::run::Records;

/// The models and settings of probing.
#[derive(Clone, Copy)]
pub struct Probe<'a> {
    /// The probed model, and its corpus, if any, with the search settings.
    pub pipeline: &'a Pipeline,
    /// The judge of correctness and entailment.
    pub judge: &'a dyn LanguageModel,
    /// Embeds answers; only [`Grouping::Meaning`] needs it.
    pub embedder: Option<&'a dyn Embedder>,
    /// The number and kind of samples.
    pub options: SampleOptions,
    /// The seed of all samples.
    pub seed: u64,
    /// When an answer is right.
    pub correctness: Correctness,
    /// When two answers say the same.
    pub grouping: Grouping,
    /// Whether to compute the eigenscore of the samples from memory.
    pub eigenscore: bool,
    /// The numbers of best search results that questions are also answered with, greedily.
    pub at_k: &'a [usize],
}

impl Probe<'_> {
    /// Whether probing needs the judge.
    pub fn asks_judge(correctness: Correctness, grouping: Grouping) -> bool {
        correctness == Correctness::Judge || grouping == Grouping::Entailment
    }

    /// What the records depend on: a file can be resumed only under the same settings. `answering` names what the
    /// answers of the pipeline depend on.
    pub fn identity(&self, mut answering: RunSettings) -> RunSettings {
        answering.remove("policy");
        let mut set = |name: &str, value: String| answering.insert(name.to_owned(), value);
        set("samples", self.options.samples.to_string());
        set("temperature", self.options.temperature.to_string());
        set("correct", self.correctness.to_string());
        set("group", self.grouping.to_string());
        set("eigenscore", self.eigenscore.to_string());
        if !self.at_k.is_empty() {
            let ks: Vec<String> = self.at_k.iter().map(usize::to_string).collect();
            set("at_k", ks.join(","));
        }
        set("prompt", prompt::fingerprint());
        if Self::asks_judge(self.correctness, self.grouping) {
            set("judge", self.judge.fingerprint().to_owned());
        }
        if let (Grouping::Meaning { .. }, Some(embedder)) = (self.grouping, self.embedder) {
            set("group_embedder", embedder.fingerprint().to_owned());
        }
        answering
    }
}

/// One question with its distinct prompts, each of which is sampled once.
struct Draft<'q> {
    question: &'q Question,
    /// Knowledge of it from before.
    record: ProbeRecord,
    prompts: Vec<Prompt>,
    /// The index of each condition's prompt.
    asked: Conditions<Option<usize>>,
    /// The prompts with only the best search results, by their number.
    at_k: Vec<(usize, Prompt)>,
}

/// The answers drawn for a prompt.
struct Answers {
    greedy: Sample,
    samples: Vec<Sample>,
    /// Tokens that the model wrote for each sample.
    written: Vec<usize>,
}

/// The greedy answer and the samples for a prompt; `None` if the model was stopped.
type GreedyAndSamples = (Option<Drawn>, Option<Drawn>);

impl Answers {
    fn of(greedy: Drawn, samples: Drawn) -> Option<Self> {
        Some(Self {
            greedy: greedy.samples.into_iter().next()?,
            samples: samples.samples,
            written: samples.written,
        })
    }
}

impl Probe<'_> {
    /// The models, corpus and prompts of all records.
    pub(super) fn fingerprints(&self) -> Fingerprints {
        Fingerprints {
            model: self.pipeline.model.fingerprint().to_owned(),
            corpus: self
                .pipeline
                .retriever()
                .map(|retriever| retriever.back_end().fingerprint()),
            prompt: prompt::fingerprint(),
        }
    }

    /// Probes a batch of questions.
    ///
    /// # Errors
    /// A question that does not fit, a failing model, embedder or index.
    pub(super) fn batch(&self, questions: &[&Question]) -> Records<ProbeRecord> {
        let mut drafts = self.drafts(questions)?;
        self.rate(&mut drafts)?;
        self.judge(&mut drafts)?;
        let sampled = self.sampled(&mut drafts)?;
        self.inspect(&mut drafts, &sampled)?;
        let at_k = self.answers_at_k(&drafts)?;
        let mut correct = self.correct(&drafts, &sampled)?.into_iter();
        let fingerprints = self.fingerprints();
        let mut records = Vec::with_capacity(drafts.len());
        for ((mut draft, sampled), at_k) in drafts.into_iter().zip(sampled).zip(at_k) {
            let (Some(sampled), Some(at_k)) = (sampled, at_k) else {
                records.push(Err(AnswerError::Interrupted));
                continue;
            };
            let mut judged: Vec<Judged> = Vec::with_capacity(sampled.len());
            for Answers {
                greedy,
                samples,
                written,
            } in sampled
            {
                let mut right = || match draft.record.unjudged {
                    Some(_) => None,
                    None => correct.next(),
                };
                let greedy = ProbeAnswer {
                    answer: greedy,
                    correct: right(),
                };
                let types = self.types(draft.question, &samples)?;
                let judge = |((sample, answer_type), written): ((Sample, _), _)| ProbeSample {
                    text: sample.text,
                    logprob: sample.logprob,
                    tokens: sample.tokens,
                    written,
                    correct: right(),
                    lack: sample.lack,
                    answer_type,
                };
                judged.push(Judged {
                    greedy,
                    samples: (samples.into_iter().zip(types).zip(written))
                        .map(judge)
                        .collect(),
                });
            }
            draft.record.at_k = at_k;
            let drawn = draft
                .asked
                .map(|prompt| prompt.map(|prompt| judged[prompt].clone()));
            records.push(Ok(draft.record.answered(&drawn, fingerprints.clone())));
        }
        Ok(records)
    }

    /// Draws the answers to all prompts; `None` for a question that was stopped.
    fn sampled(&self, drafts: &mut [Draft<'_>]) -> Result<Vec<Option<Vec<Answers>>>, AnswerError> {
        let greedy = self.drawn_from_memory(Step::Greedy, drafts)?;
        let samples = self.drawn_from_memory(Step::Sample, drafts)?;
        let drawn = self.drawn_with_evidence(drafts)?;
        let mut drawn = drawn.into_iter();
        let from_memory = greedy.into_iter().zip(samples);
        Ok(drafts
            .iter()
            .zip(from_memory)
            .map(|(draft, (greedy, samples))| {
                let mut all = vec![(greedy, samples)];
                all.extend(drawn.by_ref().take(draft.prompts.len() - 1));
                all.into_iter()
                    .map(|(greedy, samples)| Answers::of(greedy?, samples?))
                    .collect()
            })
            .collect())
    }

    /// Draws the greedy answers and the samples to all prompts except those from memory, in order, and records the
    /// costs of greedy answers with evidence.
    fn drawn_with_evidence(
        &self,
        drafts: &mut [Draft<'_>],
    ) -> Result<Vec<GreedyAndSamples>, AnswerError> {
        let model = self.pipeline.model.as_ref();
        let others: Vec<(usize, usize)> = drafts
            .iter()
            .enumerate()
            .flat_map(|(index, draft)| (1..draft.prompts.len()).map(move |place| (index, place)))
            .collect();
        let asked = |step: Step| -> Vec<DrawRequest<'_>> {
            let requests = others.iter().map(|&(index, place)| {
                let draft = &drafts[index];
                self.asked(step, draft.question, &draft.prompts[place])
            });
            requests.collect()
        };
        let greedy = draw_answers(model, &asked(Step::Greedy))?;
        let samples = draw(model, &asked(Step::Sample))?;
        let mut costs = Vec::new();
        let mut all = Vec::new();
        for ((&(index, place), greedy), samples) in others.iter().zip(greedy).zip(samples) {
            let greedy = greedy.map(|(drawn, cost)| {
                costs.push((index, place, cost));
                drawn
            });
            all.push((greedy, samples));
        }
        for (index, place, cost) in costs {
            let draft = &mut drafts[index];
            if draft.asked.corpus == Some(place) {
                draft.record.costs_with_evidence.insert(Step::Greedy, cost);
            }
        }
        Ok(all)
    }

    /// Draws the greedy answers from memory, or the samples, and records their costs.
    fn drawn_from_memory(
        &self,
        step: Step,
        drafts: &mut [Draft<'_>],
    ) -> Result<Vec<Option<Drawn>>, AnswerError> {
        // The first prompt is the one from memory.
        let asked = drafts
            .iter()
            .map(|draft| self.asked(step, draft.question, &draft.prompts[0]));
        let drawn = draw_answers(self.pipeline.model.as_ref(), &asked.collect::<Vec<_>>())?;
        let each = drafts.iter_mut().zip(drawn);
        Ok(each
            .map(|(draft, drawn)| {
                let (drawn, cost) = drawn?;
                draft.record.costs.insert(step, cost);
                Some(drawn)
            })
            .collect())
    }

    fn asked<'p>(&self, step: Step, question: &Question, prompt: &'p Prompt) -> DrawRequest<'p> {
        match step {
            Step::Sample => {
                DrawRequest::for_samples(prompt, self.options, seed_of(self.seed, &question.id))
            }
            _ => DrawRequest::greedy(prompt, self.options.max_tokens),
        }
    }

    /// Asks the model whether it needs to look the questions up, if it scores.
    fn judge(&self, drafts: &mut [Draft<'_>]) -> Result<(), AnswerError> {
        let model = self.pipeline.model.as_ref();
        if !model.capabilities().score {
            return Ok(());
        }
        let questions: Vec<&str> = drafts.iter().map(|d| d.question.question.trim()).collect();
        for (draft, (judgment, cost)) in drafts.iter_mut().zip(judge(model, &questions)?) {
            draft.record.judgment = judgment;
            draft.record.costs.insert(Step::Judge, cost);
        }
        Ok(())
    }

    /// Rates how well passages fit the questions, if there is a corpus.
    fn rate(&self, drafts: &mut [Draft<'_>]) -> Result<(), AnswerError> {
        let Some(retriever) = self.pipeline.retriever() else {
            return Ok(());
        };
        let questions: Vec<&str> = drafts.iter().map(|d| d.question.question.trim()).collect();
        for (draft, (rating, cost)) in drafts.iter_mut().zip(rate(retriever, &questions)?) {
            draft.record.rating = rating;
            draft.record.costs_with_evidence.insert(Step::Rate, cost);
        }
        Ok(())
    }

    /// Computes the eigenscores, if requested.
    fn inspect(
        &self,
        drafts: &mut [Draft<'_>],
        sampled: &[Option<Vec<Answers>>],
    ) -> Result<(), AnswerError> {
        if !self.eigenscore {
            return Ok(());
        }
        // The first prompt is the one from memory.
        let (indices, samples): (Vec<usize>, Vec<&[Sample]>) = sampled
            .iter()
            .enumerate()
            .filter_map(|(index, sampled)| {
                let samples = sampled.as_ref()?.first()?.samples.as_slice();
                Some((index, samples))
            })
            .unzip();
        let prompts: Vec<&Prompt> = indices.iter().map(|&i| &drafts[i].prompts[0]).collect();
        let inspected = inspect_answers(self.pipeline.model.as_ref(), &prompts, &samples)?;
        for (index, (eigenscore, cost)) in indices.into_iter().zip(inspected) {
            let record = &mut drafts[index].record;
            record.eigenscore = eigenscore;
            record.costs.insert(Step::Inspect, cost);
        }
        Ok(())
    }

    /// Answers with only the best search results, by their number, and whether they are right: `[questions]`; `None`
    /// for a question that was stopped.
    fn answers_at_k(
        &self,
        drafts: &[Draft<'_>],
    ) -> Result<Vec<Option<BTreeMap<usize, ProbeAnswer>>>, AnswerError> {
        let places = drafts.iter().enumerate();
        let places = places.flat_map(|(i, draft)| draft.at_k.iter().map(move |fewer| (i, fewer)));
        let places: Vec<(usize, &(usize, Prompt))> = places.collect();
        let asked = places
            .iter()
            .map(|(index, (_, prompt))| self.asked(Step::Greedy, drafts[*index].question, prompt));
        let model = self.pipeline.model.as_ref();
        let drawn = draw_answers(model, &asked.collect::<Vec<_>>())?;
        let mut answers: Vec<Option<BTreeMap<usize, ProbeAnswer>>> =
            vec![Some(BTreeMap::new()); drafts.len()];
        for ((index, (k, _)), drawn) in places.iter().zip(drawn) {
            let answer = drawn.and_then(|(drawn, _)| drawn.samples.into_iter().next());
            match (answers[*index].take(), answer) {
                (Some(mut all), Some(answer)) => {
                    let correct = None;
                    all.insert(*k, ProbeAnswer { answer, correct });
                    answers[*index] = Some(all);
                }
                _ => answers[*index] = None,
            }
        }
        let judged = drafts.iter().zip(&mut answers);
        let judged = judged.filter(|(draft, _)| draft.record.unjudged.is_none());
        let each = judged.flat_map(|(draft, answers)| {
            let golden = draft.question.golden();
            let answers = answers.iter_mut().flat_map(BTreeMap::values_mut);
            answers.map(move |answer| (answer, golden))
        });
        let mut each: Vec<(&mut ProbeAnswer, Golden<'_>)> = each.collect();
        let texts = each
            .iter()
            .map(|(answer, golden)| (answer.answer.text.as_str(), *golden));
        let right = are_right(self.correctness, &texts.collect::<Vec<_>>(), self.judge)?;
        for ((answer, _), right) in each.iter_mut().zip(right) {
            answer.correct = Some(right);
        }
        Ok(answers)
    }

    /// Retrieves the evidence and writes the prompts.
    fn drafts<'q>(&self, questions: &[&'q Question]) -> Result<Vec<Draft<'q>>, AnswerError> {
        let question_prompts = questions.iter().map(|question| question.asked());
        let question_prompts = question_prompts.collect::<Result<Vec<_>, _>>()?;
        let evidence: Vec<Option<Vec<Retrieved>>> = match self.pipeline.retriever() {
            Some(_) => {
                let found = self.pipeline.evidence(&question_prompts)?;
                found.into_iter().map(Some).collect()
            }
            None => vec![None; question_prompts.len()],
        };
        Ok(questions
            .iter()
            .zip(question_prompts)
            .zip(evidence)
            .map(|((question, question_prompt), evidence)| {
                draft(question, question_prompt, evidence, self.at_k)
            })
            .collect())
    }

    /// Whether each answer is right, for the questions whose answers can be scored, in order; for each prompt the
    /// greedy answer first.
    fn correct(
        &self,
        drafts: &[Draft<'_>],
        sampled: &[Option<Vec<Answers>>],
    ) -> Result<Vec<bool>, AnswerError> {
        let answers: Vec<(&str, Golden<'_>)> = drafts
            .iter()
            .zip(sampled)
            .filter(|(draft, _)| draft.record.unjudged.is_none())
            .flat_map(|(draft, sampled)| {
                let golden = draft.question.golden();
                let answers = sampled.iter().flatten();
                let each = answers.flat_map(|a| std::iter::once(&a.greedy).chain(&a.samples));
                each.map(move |sample| (sample.text.as_str(), golden))
            })
            .collect();
        Ok(are_right(self.correctness, &answers, self.judge)?)
    }

    /// The answer type of each sample. Answers to multiple-choice questions are grouped by the choices that they
    /// name.
    fn types(&self, question: &Question, samples: &[Sample]) -> Result<Vec<usize>, AnswerError> {
        let texts: Vec<&str> = samples.iter().map(|sample| sample.text.as_str()).collect();
        if !question.choices.is_empty() {
            return Ok(types_by_choice(&texts, &question.choices));
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

/// The prompts of a question, each once: conditions share a prompt if search found nothing, or if nothing was masked.
fn draft<'q>(
    question: &'q Question,
    question_prompt: QuestionPrompt<'_>,
    evidence: Option<Vec<Retrieved>>,
    at_k: &[usize],
) -> Draft<'q> {
    let mut prompts = vec![prompt::from_memory(question_prompt)];
    let mut record = ProbeRecord {
        subject: question.named_subject(),
        unjudged: question.golden().obstacle(),
        ..ProbeRecord::of(question)
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
    let mut fewer = Vec::new();
    if let Some(mut evidence) = evidence {
        for &k in at_k {
            let read = evidence.iter().take(k).filter(|passage| passage.in_prompt);
            let prompt = prompt::from_evidence(question_prompt, &read.collect::<Vec<_>>());
            fewer.push((k, prompt));
        }
        evidence.retain(|passage| passage.in_prompt);
        record.evidence = evidence.iter().map(|p| p.passage_id.clone()).collect();
        asked.corpus = ask(prompt::from_evidence(
            question_prompt,
            &evidence.iter().collect::<Vec<_>>(),
        ));
        if record.unjudged.is_none() {
            record.masked_places = mask_all(&mut evidence, &question.answers_in_words());
            asked.masked = ask(prompt::from_evidence(
                question_prompt,
                &evidence.iter().collect::<Vec<_>>(),
            ));
        }
    }
    Draft {
        question,
        record,
        prompts,
        asked,
        at_k: fewer,
    }
}

/// Masks titles and texts, and returns the number of masked places.
fn mask_all(evidence: &mut [Retrieved], answers: &[String]) -> usize {
    let mut places = 0;
    for passage in evidence {
        let heading = &mut passage.location.heading;
        for text in [&mut passage.title, heading, &mut passage.text] {
            let masked = mask(text, answers);
            places += masked.places;
            *text = masked.text;
        }
    }
    places
}
