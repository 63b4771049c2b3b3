//! Models bound to a token: they get no calls once it is set. A model that can itself
//! stop in the middle of a call is bound by its own means.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use crate::cancel::CancelToken;
use crate::chat_server::ChatServer;
use crate::embedder::{Embedder, Role};
use crate::error::ModelError;
use crate::model::{Capabilities, LanguageModel};
use crate::pair_scorer::PairScorer;
use crate::prompt::Prompt;
use crate::request::{GenerateRequest, Progress, ScoreRequest};
use crate::response::{Generation, Score};
use crate::source_chooser::SourceChooser;
use crate::text_model::TextModel;

/// The pairs of texts between two checks of the token.
const SLICE: usize = 16;

/// A language model whose calls end with a token: between pieces of prompts and of generated
/// texts.
pub fn bound_model(model: Arc<dyn LanguageModel>, token: &CancelToken) -> Arc<dyn LanguageModel> {
    let model = model.bound(token).unwrap_or(model);
    Arc::new(Bound::new(model, token))
}

/// An embedder whose calls end with a token.
pub fn bound_embedder(embedder: Arc<dyn Embedder>, token: &CancelToken) -> Arc<dyn Embedder> {
    match embedder.bound(token) {
        Some(bound) => bound,
        None => Arc::new(Bound::new(embedder, token)),
    }
}

/// A cross-encoder whose calls end with a token.
pub fn bound_scorer(scorer: Arc<dyn PairScorer>, token: &CancelToken) -> Arc<dyn PairScorer> {
    Arc::new(Bound::new(scorer, token))
}

struct Bound<M: ?Sized> {
    model: Arc<M>,
    token: CancelToken,
}

impl<M: ?Sized> Bound<M> {
    fn new(model: Arc<M>, token: &CancelToken) -> Self {
        let token = token.clone();
        Self { model, token }
    }
}

impl LanguageModel for Bound<dyn LanguageModel> {
    fn fingerprint(&self) -> &str {
        self.model.fingerprint()
    }

    fn capabilities(&self) -> Capabilities {
        self.model.capabilities()
    }

    fn context_tokens(&self) -> usize {
        self.model.context_tokens()
    }

    fn count_tokens(&self, text: &str) -> Result<usize, ModelError> {
        self.token.check()?;
        self.model.count_tokens(text)
    }

    fn count_prompt_tokens(&self, prompt: &Prompt) -> Result<usize, ModelError> {
        self.token.check()?;
        self.model.count_prompt_tokens(prompt)
    }

    fn generate(
        &self,
        requests: &[GenerateRequest<'_, Prompt>],
        on_progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Vec<Generation>>, ModelError> {
        self.token.check()?;
        self.model.generate(requests, &mut |progress| {
            self.token.flow()?;
            on_progress(progress)
        })
    }

    fn score(&self, requests: &[ScoreRequest<'_, Prompt>]) -> Result<Vec<Vec<Score>>, ModelError> {
        self.token.check()?;
        self.model.score(requests)
    }

    fn choose(&self, requests: &[ScoreRequest<'_, Prompt>]) -> Result<Vec<Vec<f64>>, ModelError> {
        self.token.check()?;
        self.model.choose(requests)
    }

    fn hidden(&self, prompts: &[&Prompt], layer: usize) -> Result<Vec<Vec<f32>>, ModelError> {
        self.token.check()?;
        self.model.hidden(prompts, layer)
    }

    fn source_chooser(&self) -> Result<&dyn SourceChooser, ModelError> {
        self.token.check()?;
        self.model.source_chooser()
    }

    fn not_taken(&self) -> Vec<&'static str> {
        self.model.not_taken()
    }

    fn ready(&self) -> Result<(), ModelError> {
        self.model.ready()
    }

    fn chat_server(&self) -> Option<&dyn ChatServer> {
        self.model.chat_server()
    }

    fn text_model(&self) -> Option<&dyn TextModel> {
        self.model.text_model()
    }
}

impl Embedder for Bound<dyn Embedder> {
    fn fingerprint(&self) -> &str {
        self.model.fingerprint()
    }

    fn dimensions(&self) -> usize {
        self.model.dimensions()
    }

    fn max_tokens(&self) -> Option<usize> {
        self.model.max_tokens()
    }

    fn embed(&self, texts: &[&str], role: Role) -> Result<Vec<Vec<f32>>, ModelError> {
        let mut embeddings = Vec::with_capacity(texts.len());
        for texts in texts.chunks(self.at_once().max(1)) {
            self.token.check()?;
            embeddings.extend(self.model.embed(texts, role)?);
        }
        Ok(embeddings)
    }

    fn at_once(&self) -> usize {
        self.model.at_once()
    }

    fn token_spans(&self, text: &str) -> Result<Vec<Range<usize>>, ModelError> {
        self.token.check()?;
        self.model.token_spans(text)
    }

    fn is_cut(&self, text: &str, role: Role) -> Result<bool, ModelError> {
        self.token.check()?;
        self.model.is_cut(text, role)
    }
}

impl PairScorer for Bound<dyn PairScorer> {
    fn fingerprint(&self) -> &str {
        self.model.fingerprint()
    }

    fn score(&self, pairs: &[(&str, &str)]) -> Result<Vec<f32>, ModelError> {
        let mut scores = Vec::with_capacity(pairs.len());
        for pairs in pairs.chunks(SLICE) {
            self.token.check()?;
            scores.extend(self.model.score(pairs)?);
        }
        Ok(scores)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Embeds a text as its length; counts texts.
    #[derive(Default)]
    struct Lengths(AtomicUsize);

    impl Embedder for Lengths {
        fn fingerprint(&self) -> &str {
            "lengths"
        }

        fn dimensions(&self) -> usize {
            1
        }

        fn max_tokens(&self) -> Option<usize> {
            None
        }

        fn embed(&self, texts: &[&str], _: Role) -> Result<Vec<Vec<f32>>, ModelError> {
            self.0.fetch_add(texts.len(), Ordering::Relaxed);
            Ok(texts.iter().map(|text| vec![text.len() as f32]).collect())
        }

        fn token_spans(&self, _: &str) -> Result<Vec<Range<usize>>, ModelError> {
            Ok(Vec::new())
        }
    }

    #[test]
    fn a_batch_ends_at_the_slice_within_which_the_token_is_set() {
        let lengths = Arc::new(Lengths::default());
        let texts: Vec<String> = (0..100).map(|length| "x".repeat(length)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let seen = Arc::clone(&lengths);
        let token = CancelToken::when(move || seen.0.load(Ordering::Relaxed) >= 30);
        let bound = bound_embedder(Arc::clone(&lengths) as Arc<dyn Embedder>, &token);
        let error = bound.embed(&texts, Role::Passage).unwrap_err();
        assert_eq!(error.kind(), "interrupted");
        assert_eq!(lengths.0.load(Ordering::Relaxed), 2 * SLICE);
        // A batch in slices is the batch.
        let bound = bound_embedder(lengths, &CancelToken::default());
        let embeddings = bound.embed(&texts, Role::Passage).unwrap();
        let expected: Vec<Vec<f32>> = (0..100_u16).map(|n| vec![f32::from(n)]).collect();
        assert_eq!(embeddings, expected);
    }
}
