//! What labels depend on: a file of records can be resumed only under the same settings.

use ken_answer::prompt;
use ken_eval::dataset::Question;
use ken_eval::results::RunSettings;

use super::contexts::Labeling;
use super::run::fingerprint_of_questions;

impl Labeling<'_> {
    /// What the first texts depend on. `computing` names how models are run.
    pub fn first_identity(&self, mut computing: RunSettings) -> RunSettings {
        computing.insert("model".to_owned(), self.model.fingerprint().to_owned());
        computing.insert("verbalize".to_owned(), prompt::verbalize_fingerprint());
        computing
    }

    /// What the records depend on. The questions are part of it, since the examples of a question come from texts
    /// about others. `filters` are filters of documents.
    pub fn identity(
        &self,
        computing: RunSettings,
        filters: String,
        questions: &[Question],
    ) -> RunSettings {
        let mut identity = self.first_identity(computing);
        let mut set = |name: &str, value: String| identity.insert(name.to_owned(), value);
        for corpus in self.corpora {
            let searched = corpus.retriever.back_end();
            set(&format!("corpus {}", corpus.name), searched.fingerprint());
        }
        set("filters", filters);
        set("mode", self.mode.to_string());
        if let Some(reranking) = self.corpora.first().and_then(|c| c.retriever.reranking()) {
            set("rerank", reranking.identity());
        }
        set("contexts", self.contexts.to_string());
        set("golden", self.golden.to_string());
        set("seed", self.seed.to_string());
        set("embedder", self.embedder.fingerprint().to_owned());
        set("prompt", prompt::fingerprint());
        set("questions", fingerprint_of_questions(questions));
        identity
    }
}
