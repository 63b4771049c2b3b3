//! What results depend on: a run resumes only records that were made under the same identity.

use std::collections::BTreeMap;

use ken_answer::{Pipeline, Retriever, Style, prompt};

use crate::settings::Settings;

/// The prompts of short answers that results are made by if they name none: those of before results named them.
const UNNAMED_PROMPTS: &str = "a2f79b719d08b2a6bfc22cfbd0f52284";

impl Settings {
    /// Everything that the answers of a pipeline depend on, by name. A corpus counts by its content, not by its
    /// place.
    #[must_use]
    pub fn identity(&self, pipeline: &Pipeline) -> BTreeMap<String, String> {
        let answering = &pipeline.settings;
        let retriever = pipeline.retriever();
        let abstain = answering.abstain;
        let signals = || {
            let own = answering.policy.signals();
            own.chain(abstain.map(|abstain| abstain.signal))
        };
        let deciders = signals().filter_map(|signal| {
            let model = signal.told_by?;
            let by = pipeline.routing.fingerprint(model)?;
            Some((model.setting(), by.to_owned()))
        });
        let always = [
            ("policy", answering.policy.in_full()),
            ("model", pipeline.model.fingerprint().to_owned()),
            ("evidence_tokens", answering.evidence_tokens.to_string()),
            ("max_tokens", answering.max_tokens.to_string()),
            ("temperature", self.temperature.to_string()),
            ("seed", self.seed.to_string()),
        ];
        let is_sampled = signals().any(|signal| signal.is_of_samples());
        let is_full = answering.style == Style::Full;
        let prompts = match is_full {
            true => prompt::full_fingerprint(),
            false => prompt::fingerprint(),
        };
        let neighbors = answering.neighbors;
        let sometimes = [
            abstain.map(|abstain| ("abstain", abstain.to_string())),
            is_sampled.then(|| ("samples", answering.samples.to_string())),
            (neighbors > 0).then(|| ("neighbors", neighbors.to_string())),
            self.model_thinks
                .then(|| ("model_thinks", true.to_string())),
            (prompts != UNNAMED_PROMPTS).then_some(("prompt", prompts)),
            is_full.then(|| ("style", answering.style.to_string())),
            is_full.then(|| ("full_tokens", answering.full_tokens.to_string())),
            is_full.then(|| ("memory", answering.memory.to_string())),
        ];
        let sometimes = sometimes.into_iter().flatten().chain(deciders);
        let named = always.into_iter().chain(sometimes);
        let sources = pipeline.extra_corpora.iter();
        named
            .map(|(name, value)| (name.to_owned(), value))
            .chain(self.retrieval_identity(retriever, answering.k))
            .chain(sources.map(|(name, corpus)| (format!("source {name}"), searched(corpus))))
            .chain(self.computing())
            .collect()
    }

    /// Everything that the passages depend on of which a retriever finds `k` for each question, by name.
    #[must_use]
    pub fn retrieval_identity(
        &self,
        retriever: Option<&Retriever>,
        k: usize,
    ) -> BTreeMap<String, String> {
        let reranking = retriever.and_then(Retriever::reranking);
        let corpus = retriever.map_or_else(|| "none".to_owned(), searched);
        let pairs = [
            ("corpus", Some(corpus)),
            ("filters", Some(self.filters_in_words())),
            ("mode", Some(self.mode.to_string())),
            ("k", Some(k.to_string())),
            ("rerank", reranking.map(ken_answer::Reranking::identity)),
        ];
        let known = pairs.into_iter();
        known
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect()
    }

    /// The settings that all computations of a model depend on, by name.
    #[must_use]
    pub fn computing(&self) -> BTreeMap<String, String> {
        let pairs = [
            ("precision", self.precision.to_string()),
            ("device", self.device.to_string()),
        ];
        pairs.map(|(name, value)| (name.to_owned(), value)).into()
    }

    /// The filters of documents, as a person writes them.
    #[must_use]
    pub fn filters_in_words(&self) -> String {
        let filters: Vec<String> = self.filters.iter().map(ToString::to_string).collect();
        filters.join(" ")
    }
}

/// What a retriever searches.
fn searched(retriever: &Retriever) -> String {
    let searched = retriever.back_end();
    format!(
        "generation {} of fingerprint {}",
        searched.generation(),
        searched.fingerprint()
    )
}
