//! Finding passages for questions of a pipeline: those that were found before are read again, and others
//! searched for.

use std::time::Duration;

use crate::error::AnswerError;
use crate::pipeline::Pipeline;
use crate::retrieve::Found;

impl Pipeline {
    /// What a corpus holds for questions, by default that of the pipeline, each with the time that finding
    /// it took if that was before.
    ///
    /// # Shapes
    /// Returns one for each question.
    ///
    /// # Errors
    /// No corpus, or those of its search.
    pub(crate) fn find(
        &self,
        corpus: Option<&str>,
        questions: &[&str],
    ) -> Result<Vec<(Found, Duration)>, AnswerError> {
        let before = questions.iter().map(|question| {
            let found = self.found.get(*question)?;
            Some((found.clone(), found.time()))
        });
        if let Some(before) = before.collect() {
            return Ok(before);
        }
        let retriever = match corpus {
            Some(name) => self.extra_corpora.get(name),
            None => self.retriever(),
        };
        let retriever = retriever.ok_or(AnswerError::NoCorpus)?;
        let found = retriever.find(questions, self.settings.mode, self.settings.k)?;
        Ok(found.into_iter().map(|one| (one, Duration::ZERO)).collect())
    }
}
