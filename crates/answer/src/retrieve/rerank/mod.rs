//! The second stage of a search: the passages found are cut into overlapping chunks, a second look
//! scores each chunk, and the best are kept ("Less LLM, More Documents", section 4: the top 10
//! documents, overlapping chunks, the top 8). It searches nothing and writes no answers.

mod chunks;
mod likelihood;
mod method;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use ken_corpus::{Segmentation, titled};
use ken_language::{
    CancelToken, Embedder, LanguageModel, PairScorer, Role, bound_model, bound_scorer,
};

pub use method::{Rerank, UnknownRerank};

use crate::{AnswerError, SearchResult};
use chunks::Chunk;

/// A model that scores chunks. Each chunk has its document's title before it.
pub enum Reranker {
    /// The output of a network that reads query and chunk together. A pair that is too long for it
    /// is cut at the end of its longer text.
    CrossEncoder(Arc<dyn PairScorer>),
    /// The mean log probability of the query's tokens, given the chunk, by a language model.
    Likelihood(Arc<dyn LanguageModel>),
    /// The cosine of query and chunk by the corpus's own embedder.
    Embedder,
}

impl Reranker {
    /// How well each text fits the query: from 0 to 1, higher is better; 0 if the model gives no number. Numbers of
    /// different rerankers are not comparable.
    ///
    /// # Errors
    /// A model that fails.
    pub(crate) fn relevance(
        &self,
        embedder: &dyn Embedder,
        query: &str,
        texts: Vec<String>,
    ) -> Result<Vec<f32>, AnswerError> {
        let scores = self.scores(embedder, &[query], &[texts])?;
        let share = |score: f32| match self {
            Self::CrossEncoder(_) => 1.0 / (1.0 + (-score).exp()),
            Self::Likelihood(_) => score.exp(),
            Self::Embedder => score,
        };
        let shares = scores.by_query.into_iter().flatten().map(share);
        let bound = |share: f32| match share.is_nan() {
            true => 0.0,
            false => share.clamp(0.0, 1.0),
        };
        Ok(shares.map(bound).collect())
    }

    fn scores(
        &self,
        embedder: &dyn Embedder,
        queries: &[&str],
        texts: &[Vec<String>],
    ) -> Result<Scores, AnswerError> {
        match self {
            _ if texts.iter().all(Vec::is_empty) => Ok(without_tokens(texts, Vec::new())),
            Self::CrossEncoder(model) => by_cross_encoder(model.as_ref(), queries, texts),
            Self::Likelihood(model) => likelihood::score(model.as_ref(), queries, texts),
            Self::Embedder => by_embedder(embedder, queries, texts),
        }
    }
}

/// How the passages found are reranked.
pub struct Reranking {
    pub(crate) by: Reranker,
    /// The number of passages found first.
    pub(crate) depth: usize,
    segmentation: Segmentation,
}

/// The chunks kept for a query, best first.
pub(crate) struct Reranked {
    pub(crate) chunks: Vec<SearchResult>,
    /// Tokens that a language model read for them.
    pub(crate) tokens: usize,
}

/// The score of each chunk of each query, and the tokens that a language model read for a query.
struct Scores {
    by_query: Vec<Vec<f32>>,
    tokens: Vec<usize>,
}

impl Reranking {
    /// Ranks the chunks that `segmentation` makes of the `depth` passages found first.
    pub fn new(by: Reranker, depth: usize, segmentation: Segmentation) -> Self {
        Self {
            by,
            depth,
            segmentation,
        }
    }

    /// Binds its models to a token, which ends their calls.
    pub(crate) fn bound(&self, token: &CancelToken) -> Self {
        let by = match &self.by {
            Reranker::CrossEncoder(model) => {
                Reranker::CrossEncoder(bound_scorer(Arc::clone(model), token))
            }
            Reranker::Likelihood(model) => {
                Reranker::Likelihood(bound_model(Arc::clone(model), token))
            }
            Reranker::Embedder => Reranker::Embedder,
        };
        Self::new(by, self.depth, self.segmentation)
    }

    /// Identifies the ranking, except for the language model and the corpus's embedder.
    pub fn identity(&self) -> String {
        let by = match &self.by {
            Reranker::CrossEncoder(model) => format!("cross-encoder {}", model.fingerprint()),
            Reranker::Likelihood(_) => "likelihood".to_owned(),
            Reranker::Embedder => "embedder".to_owned(),
        };
        format!("{by}, {} passages in {}", self.depth, self.segmentation)
    }

    /// The `k` best chunks for each query of the passages found for it, which come best first. Among equals the chunk of the
    /// better passage comes first, and in one passage the earlier.
    pub(crate) fn rerank(
        &self,
        embedder: &dyn Embedder,
        queries: &[&str],
        passages: &[Vec<SearchResult>],
        k: usize,
    ) -> Result<Vec<Reranked>, AnswerError> {
        let chunks: Vec<Vec<Chunk<'_>>> = passages
            .iter()
            .map(|passages| chunks::cut(passages, self.segmentation, embedder))
            .collect::<Result<_, _>>()?;
        let texts: Vec<Vec<String>> = chunks
            .iter()
            .map(|chunks| {
                let titled = |chunk: &Chunk<'_>| titled(&chunk.passage.full_title(), chunk.text);
                chunks.iter().map(titled).collect()
            })
            .collect();
        let scores = self.by.scores(embedder, queries, &texts)?;
        let ranked = chunks.iter().zip(&scores.by_query);
        Ok(ranked
            .zip(scores.tokens)
            .map(|((chunks, scores), tokens)| Reranked {
                chunks: best(chunks, scores, k),
                tokens,
            })
            .collect())
    }
}

/// The score of a chunk that the reranker gives no number, below all others.
const UNTOLD: f32 = f32::MIN;

/// The `k` chunks with the highest scores; the earlier among equals. Chunks without a finite score come last.
fn best(chunks: &[Chunk<'_>], scores: &[f32], k: usize) -> Vec<SearchResult> {
    let scores = scores.iter().copied().chain(std::iter::repeat(UNTOLD));
    let scores = scores.map(|score| if score.is_finite() { score } else { UNTOLD });
    let mut ranked: Vec<(&Chunk<'_>, f32)> = chunks.iter().zip(scores).collect();
    // A stable sort, so that equals keep their order.
    ranked.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    ranked.truncate(k);
    let ranked = ranked.into_iter();
    ranked.map(|(chunk, score)| chunk.result(score)).collect()
}

fn by_cross_encoder(
    model: &dyn PairScorer,
    queries: &[&str],
    texts: &[Vec<String>],
) -> Result<Scores, AnswerError> {
    let pairs: Vec<(&str, &str)> = queries
        .iter()
        .zip(texts)
        .flat_map(|(query, texts)| texts.iter().map(|text| (*query, text.as_str())))
        .collect();
    Ok(without_tokens(texts, model.score(&pairs)?))
}

fn by_embedder(
    embedder: &dyn Embedder,
    queries: &[&str],
    texts: &[Vec<String>],
) -> Result<Scores, AnswerError> {
    let all: Vec<&str> = texts.iter().flatten().map(String::as_str).collect();
    let queries = embedder.embed(queries, Role::Query)?;
    let chunks = embedder.embed(&all, Role::Passage)?;
    let scores = queries
        .iter()
        .zip(texts)
        .flat_map(|(query, texts)| texts.iter().map(move |_| query))
        .zip(&chunks)
        .map(|(query, chunk)| cosine(query, chunk))
        .collect();
    Ok(without_tokens(texts, scores))
}

/// The cosine of two vectors; NaN if one of them has no direction.
pub(crate) fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| -> f32 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

/// Scores, one after the other for all `texts`, that no language model read tokens for.
fn without_tokens(texts: &[Vec<String>], scores: Vec<f32>) -> Scores {
    let mut rest = scores.into_iter();
    Scores {
        by_query: texts
            .iter()
            .map(|texts| rest.by_ref().take(texts.len()).collect())
            .collect(),
        tokens: vec![0; texts.len()],
    }
}
