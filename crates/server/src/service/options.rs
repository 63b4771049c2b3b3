//! From a client's request to how its question is answered: reads and checks parameters, and puts them over the
//! settings of the server.

use std::collections::BTreeSet;
use std::sync::Arc;

use ken_answer::{
    Abstention, AnswerSettings, Brought, Conversation, Exchange, Pipeline, Policy, SearchOutcome,
    SearchResult, Style,
};
use ken_corpus::{Location, Passage, PassageId};
use ken_language::{OutputSchema, Sampling};
use serde_json::{Map, Value};

use super::corpora::Opened;
use super::policies;
use super::readable;
use super::resources::Served;
use super::search_options::{MOST_PASSAGES, SearchOptions, parsed};
use crate::access::caller::Caller;
use crate::wire::ken::{GivenPassage, Options};
use crate::wire::refusal::Refusal;

/// A question with everything that its client says of it, read and checked.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestOptions {
    pub(crate) question: String,
    pub(crate) before: Vec<Exchange>,
    /// Takes precedence over the settings.
    pub(crate) policy: Option<Policy>,
    pub(crate) abstain: Option<Abstention>,
    pub(crate) search: SearchOptions,
    pub(crate) style: Option<Style>,
    pub(crate) sampling: SamplingOptions,
    /// What the application brings of its own.
    pub(crate) brought: Brought,
    /// The request as it came, if the model's own server is to answer it.
    pub(crate) sent: Option<Map<String, Value>>,
    /// The unused parts of the request.
    pub(crate) not_used: Vec<String>,
    /// Passages that the client found, read instead of search results.
    pub(crate) passages: Vec<SearchResult>,
    /// Whether to decide only, and write no answer.
    pub(crate) only_decides: bool,
    /// Whether the trace holds all that was retrieved.
    pub(crate) traced: bool,
}

/// How a client wants the answer's tokens chosen.
#[derive(Debug, Clone, Default)]
pub(crate) struct SamplingOptions {
    pub(crate) max_tokens: Option<usize>,
    pub(crate) temperature: Option<f64>,
    pub(crate) top_p: Option<f64>,
    pub(crate) seed: Option<u64>,
}

impl RequestOptions {
    /// Reads ken's own parameters; `model` is the policy that the model's name means.
    ///
    /// # Errors
    /// A value that cannot be taken.
    pub(crate) fn by(model: Option<Policy>, options: &Options) -> Result<Self, Refusal> {
        Ok(Self {
            policy: parsed("ken.policy", options.policy.as_deref())?.or(model),
            abstain: parsed("ken.abstain", options.abstain.as_deref())?,
            search: SearchOptions::within(options)?,
            style: parsed("ken.style", options.style.as_deref())?,
            traced: options.trace.unwrap_or(false),
            passages: passages(options.passages.as_deref().unwrap_or_default())?,
            ..Self::default()
        })
    }

    /// Options for a conversation. One with an instruction of its own is answered by that, unless a style was asked
    /// for; so is one with a schema, whatever the style. `unread` are its unread parts.
    pub(crate) fn over(
        self,
        conversation: Conversation,
        unread: BTreeSet<String>,
        schema: Option<OutputSchema>,
    ) -> Self {
        let has_words = !conversation.instruction.is_empty();
        let mut not_used: Vec<String> = unread.into_iter().collect();
        match (self.style, &schema) {
            (Some(_), Some(_)) => not_used.push("ken.style".to_owned()),
            (Some(_), None) if has_words => not_used.push("system messages".to_owned()),
            _ => {}
        }
        let is_own = schema.is_some() || has_words && self.style.is_none();
        Self {
            question: conversation.question.clone(),
            before: conversation.before.clone(),
            brought: Brought {
                conversation: is_own.then_some(conversation),
                schema,
                ..Brought::default()
            },
            not_used,
            ..self
        }
    }

    /// The corpora to search.
    ///
    /// # Errors
    /// As [`SearchOptions::corpora`].
    pub(crate) fn corpora(
        &self,
        served: &Served,
        caller: &Caller,
    ) -> Result<Vec<Arc<Opened>>, Refusal> {
        match self.passages.is_empty() || self.search.names_corpora() {
            true => self.search.corpora(served, caller),
            false => Ok(Vec::new()),
        }
    }

    /// Refuses texts that the model cannot read to their end.
    ///
    /// # Errors
    /// The first text that is too long.
    pub(crate) fn check_length(&self, served: &Served) -> Result<(), Refusal> {
        let before = self.before.iter().map(|before| before.question.as_str());
        let own = self.brought.conversation.iter();
        let own = own.map(|own| own.instruction.as_str());
        let schema = self.schema_text();
        let passages = self.passages.iter().map(|passage| passage.text.as_str());
        let mut texts = before
            .chain([self.question.as_str()])
            .chain(own)
            .chain([schema.as_str()])
            .chain(passages);
        let most = Some(served.pipeline.model.context_tokens());
        texts.try_for_each(|text| readable::check(text, most))
    }

    /// About how many tokens it takes, before any are counted.
    pub(crate) fn estimate(&self, served: &Served) -> usize {
        let written = self.sent.as_ref().and(self.sampling.max_tokens);
        let read = self.prompt_estimate(served);
        read.saturating_add(written.unwrap_or_default())
    }

    /// About how many of these are for its prompt.
    pub(crate) fn prompt_estimate(&self, served: &Served) -> usize {
        let own = self.brought.conversation.as_ref();
        let read = own.map_or(self.question.len(), |own| own.texts().map(str::len).sum());
        served.prompt_estimate(read + self.schema_text().len())
    }

    /// The schema of the answer as the model reads it; empty without one.
    fn schema_text(&self) -> String {
        let schema = self.brought.schema.as_ref();
        schema.map_or_else(String::new, |schema| schema.as_json().to_string())
    }

    /// Has the pipeline read the client's passages instead of searching for the question.
    pub(crate) fn bring(&self, question: &str, pipeline: &mut Pipeline) {
        if !self.passages.is_empty() {
            let found = SearchOutcome {
                results: self.passages.clone(),
                ..SearchOutcome::default()
            };
            pipeline.found.insert(question.trim().to_owned(), found);
        }
    }

    /// The policy and the pipeline by which it is answered, over some corpora.
    ///
    /// # Errors
    /// A policy that cannot choose here, a value that is out of range, filters that cannot be applied.
    pub(crate) fn pipeline(
        &self,
        mut settings: AnswerSettings,
        served: &Served,
        corpora: &[Arc<Opened>],
        caller: &Caller,
    ) -> Result<Pipeline, Refusal> {
        // The guarantee of the policy may have lapsed while the question waited.
        settings.policy = self.policy(served);
        let retriever = self.search.retriever(served, corpora)?;
        let mut pipeline = served.pipeline().over(retriever)?;
        pipeline.extra_corpora = served.extra_corpora(caller);
        policies::check(settings.policy, &pipeline)?;
        policies::check_abstention(settings.abstain, &pipeline)?;
        settings.check()?;
        pipeline.settings = settings;
        pipeline.brought = Arc::new(Brought {
            evidence: pipeline.brought.evidence.clone(),
            ..self.brought.clone()
        });
        Ok(pipeline)
    }

    /// The policy by which it is answered now.
    pub(crate) fn policy(&self, served: &Served) -> Policy {
        self.policy.unwrap_or_else(|| served.policy_in_force())
    }

    /// The settings by which it is answered.
    ///
    /// # Errors
    /// A value that is out of range.
    pub(crate) fn settings(&self, served: &Served) -> Result<AnswerSettings, Refusal> {
        let set = &served.pipeline.settings;
        let max_tokens = self.sampling.max_tokens;
        let tokens = |most: usize| max_tokens.map_or(most, |wanted| wanted.min(most));
        if max_tokens == Some(0) {
            return Err(Refusal::invalid("max_tokens", "it must be at least 1"));
        }
        let (k, mode) = self.search.amount(set.k, set.mode);
        Ok(AnswerSettings {
            policy: self.policy(served),
            abstain: self.abstain.or(set.abstain),
            mode,
            k,
            style: self.style.unwrap_or(set.style),
            max_tokens: tokens(set.max_tokens),
            full_tokens: tokens(set.full_tokens),
            sampling: self.sampling.sampling(set.sampling, set.seed)?,
            ..set.clone()
        })
    }
}

/// A client's passages as search results.
fn passages(given: &[GivenPassage]) -> Result<Vec<SearchResult>, Refusal> {
    if given.len() > MOST_PASSAGES {
        let message = format!("at most {MOST_PASSAGES} passages can be given");
        return Err(Refusal::invalid("ken.passages", message));
    }
    let passages = given.iter().enumerate().map(|(index, given)| {
        if given.text.trim().is_empty() {
            let message = "a passage has to have a text";
            return Err(Refusal::invalid("ken.passages", message));
        }
        let id = given.id.clone().unwrap_or_else(|| (index + 1).to_string());
        let passage = Passage {
            id: PassageId(id.clone()),
            doc_id: id,
            title: given.title.clone(),
            text: given.text.clone(),
            location: Location::default(),
            metadata: Map::new(),
        };
        // Only their order is known.
        Ok(SearchResult::of(passage, -(index as f32)))
    });
    passages.collect()
}

impl SamplingOptions {
    /// How tokens are chosen: by the settings if the client does not say.
    ///
    /// # Errors
    /// A value that is out of range.
    pub(crate) fn sampling(&self, set: Sampling, set_seed: u64) -> Result<Sampling, Refusal> {
        let range = |value: Option<f64>, param, most: f64| match value {
            Some(value) if !(0.0..=most).contains(&value) => {
                let message = format!("it must be a number from 0 to {most}");
                Err(Refusal::invalid(param, message))
            }
            _ => Ok(()),
        };
        range(self.temperature, "temperature", 2.0)?;
        range(self.top_p, "top_p", 1.0)?;
        let sampling = match self.temperature {
            Some(temperature) => Sampling::at(temperature as f32, self.seed.unwrap_or(set_seed)),
            None => set,
        };
        Ok(match sampling {
            Sampling::Greedy => Sampling::Greedy,
            // With no share of the probability, only the most likely token is left.
            Sampling::Random { .. } if self.top_p == Some(0.0) => Sampling::Greedy,
            Sampling::Random {
                temperature,
                top_k,
                top_p: set,
                seed: drawn,
            } => Sampling::Random {
                temperature,
                top_k,
                top_p: self.top_p.map(|share| share as f32).or(set),
                seed: self.seed.unwrap_or(drawn),
            },
        })
    }
}
