//! From a client's search parameters to what is searched: reads and checks them, and puts them over the settings of
//! the server.

use std::str::FromStr;
use std::sync::Arc;

use ken_answer::{AnswerError, Rerank, Reranker, Reranking, Retriever, SearchResult};
use ken_corpus::Filter;
use ken_index::Mode;

use super::cancel::Cancel;
use super::corpora::Opened;
use super::resources::Served;
use crate::access::caller::Caller;
use crate::wire::ken::{Options, SearchRequest};
use crate::wire::refusal::Refusal;
use crate::wire::texts::Texts;

/// The most passages that a client may ask for.
pub(super) const MOST_PASSAGES: usize = 100;

/// The most corpora that one search goes through.
const MOST_CORPORA: usize = 16;

/// The code of an empty corpus.
pub(crate) const EMPTY: &str = "empty_corpus";

/// The most comparisons of all filters together.
const MOST_COMPARISONS: usize = 256;

/// How a client wants passages found.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct SearchOptions {
    /// By name; empty for the first.
    corpora: Vec<String>,
    generation: Option<u64>,
    k: Option<usize>,
    mode: Option<Mode>,
    filters: Vec<Filter>,
    rerank: Option<Rerank>,
    /// The least relevance of results, from 0 to 1.
    least: Option<f32>,
}

impl SearchOptions {
    /// Reads the parameters of a search.
    ///
    /// # Errors
    /// A value that cannot be taken.
    pub(crate) fn by(request: &SearchRequest) -> Result<Self, Refusal> {
        Self {
            corpora: names(request.corpus.as_ref()),
            generation: request.generation,
            k: request.k,
            mode: parsed("mode", request.mode.as_deref())?,
            filters: filters("filter", &request.filter)?,
            rerank: parsed("rerank", request.rerank.as_deref())?,
            least: None,
        }
        .checked("k")
    }

    /// Reads the parameters of a question.
    ///
    /// # Errors
    /// A value that cannot be taken.
    pub(super) fn within(options: &Options) -> Result<Self, Refusal> {
        Self {
            corpora: names(options.corpus.as_ref()),
            generation: options.generation,
            k: options.k,
            mode: parsed("ken.mode", options.mode.as_deref())?,
            filters: filters("ken.filter", &options.filter)?,
            rerank: parsed("ken.rerank", options.rerank.as_deref())?,
            least: None,
        }
        .checked("ken.k")
    }

    /// Fills in what another part of the request says where this one is silent. The conditions of both hold.
    ///
    /// # Errors
    /// A value that cannot be taken.
    pub(crate) fn or(
        mut self,
        corpora: &[String],
        k: Option<usize>,
        filters: Vec<Filter>,
    ) -> Result<Self, Refusal> {
        if self.corpora.is_empty() {
            self.corpora = corpora.to_vec();
        }
        self.k = self.k.or(k);
        self.filters.extend(filters);
        few(&self.filters, "filters")?;
        self.checked("max_num_results")
    }

    /// Leaves out results below this relevance.
    pub(crate) fn at_least(self, least: Option<f32>) -> Self {
        Self { least, ..self }
    }

    /// Sets the number of passages to find; `param` is the name of the parameter.
    ///
    /// # Errors
    /// Zero passages, or too many.
    pub(crate) fn finding(self, k: Option<usize>, param: &str) -> Result<Self, Refusal> {
        Self { k, ..self }.checked(param)
    }

    /// Names a corpus, and nothing else.
    pub(crate) fn of(corpus: Option<String>) -> Self {
        Self {
            corpora: corpus.into_iter().collect(),
            ..Self::default()
        }
    }

    fn checked(self, param: &str) -> Result<Self, Refusal> {
        match self.k {
            Some(k) if !(1..=MOST_PASSAGES).contains(&k) => {
                let message = format!("it must be a number from 1 to {MOST_PASSAGES}");
                Err(Refusal::invalid(param, message))
            }
            _ => Ok(self),
        }
    }

    /// Whether it says where to search.
    pub(super) fn names_corpora(&self) -> bool {
        !self.corpora.is_empty()
    }

    /// Whether only the first corpus is searched, as the settings say.
    pub(super) fn is_as_set(&self, served: &Served) -> bool {
        let all = served.corpora.all();
        let first = all.first().map(|first| first.name.as_str());
        let names = self.corpora.iter().map(String::as_str);
        let others = Self {
            corpora: Vec::new(),
            ..self.clone()
        };
        names.map(Some).all(|name| name == first) && others == Self::default()
    }

    /// The corpora to search, each once; empty if none is served and none is named. Of several, empty ones are left
    /// out, unless all are empty. A caller that may not search a corpus learns neither whether it exists nor its
    /// name.
    ///
    /// # Errors
    /// A corpus or generation that is not served, or not for the caller; a generation of several corpora, or too many.
    pub(crate) fn corpora(
        &self,
        served: &Served,
        caller: &Caller,
    ) -> Result<Vec<Arc<Opened>>, Refusal> {
        if self.corpora.is_empty() {
            return Ok(self.corpus(served, caller, None)?.into_iter().collect());
        }
        let mut opened: Vec<Arc<Opened>> = Vec::new();
        let mut empty = None;
        for name in &self.corpora {
            if opened.iter().any(|corpus| corpus.name == *name) {
                continue;
            }
            match self.corpus(served, caller, Some(name)) {
                Ok(corpora) => opened.extend(corpora),
                Err(refusal) if refusal.code() == EMPTY => empty = Some(refusal),
                Err(refusal) => return Err(refusal),
            }
        }
        if opened.len() > MOST_CORPORA {
            let message = format!("at most {MOST_CORPORA} corpora are searched at once");
            return Err(Refusal::invalid("corpus", message));
        }
        if opened.len() > 1 && self.generation.is_some() {
            let message = "a generation is one of a single corpus";
            return Err(Refusal::invalid("generation", message));
        }
        match (opened.is_empty(), empty) {
            (true, Some(refusal)) => Err(refusal),
            _ => Ok(opened),
        }
    }

    fn corpus(
        &self,
        served: &Served,
        caller: &Caller,
        named: Option<&str>,
    ) -> Result<Option<Arc<Opened>>, Refusal> {
        let first = served.corpora.all().into_iter().next();
        let name = match (named, &first) {
            (Some(name), _) => {
                caller.must_read(name)?;
                Some(name)
            }
            (None, Some(first)) => {
                caller.must_read_first(&first.name)?;
                Some(first.name.as_str())
            }
            (None, None) => None,
        };
        let corpus = served.corpora.find(name, self.generation);
        let (Err(_), Some(name), Some(library)) = (&corpus, name, &served.library) else {
            return corpus;
        };
        match library.is_empty(&served.corpora, name)? {
            true => Err(Refusal::bad(EMPTY, "nothing was put into the corpus yet").of("corpus")),
            false => corpus,
        }
    }

    /// The corpora to search, at least one.
    ///
    /// # Errors
    /// As [`SearchOptions::corpora`]; a server without a corpus.
    pub(crate) fn some_corpora(
        &self,
        served: &Served,
        caller: &Caller,
    ) -> Result<Vec<Arc<Opened>>, Refusal> {
        let corpora = self.corpora(served, caller)?;
        match corpora.is_empty() {
            true => Err(AnswerError::NoCorpus.into()),
            false => Ok(corpora),
        }
    }

    /// The named corpus, or else the first.
    ///
    /// # Errors
    /// As [`SearchOptions::some_corpora`].
    pub(crate) fn some_corpus(
        &self,
        served: &Served,
        caller: &Caller,
    ) -> Result<Arc<Opened>, Refusal> {
        let first = self.corpora(served, caller)?.into_iter().next();
        Ok(first.ok_or(AnswerError::NoCorpus)?)
    }

    /// The number of passages and the mode, by default these.
    pub(crate) fn amount(&self, k: usize, mode: Mode) -> (usize, Mode) {
        (self.k.unwrap_or(k), self.mode.unwrap_or(mode))
    }

    /// The retriever over the corpora, with the filters and the reranking of the request; `None` for no corpora.
    ///
    /// # Errors
    /// Filters that cannot be applied; a reranker that is not open.
    pub(crate) fn retriever(
        &self,
        served: &Served,
        corpora: &[Arc<Opened>],
    ) -> Result<Option<Retriever>, Refusal> {
        let Some((first, others)) = corpora.split_first() else {
            return Ok(None);
        };
        let others = others.iter().map(|other| {
            let retriever = self.narrowed(served, &other.retriever)?;
            Ok((other.name.clone(), retriever))
        });
        let others = others.collect::<Result<_, Refusal>>()?;
        let first = self.narrowed(served, &first.retriever)?;
        Ok(Some(first.beside(others).at_least(self.least)))
    }

    /// The `k` passages of the corpora that fit a query, best first.
    ///
    /// # Errors
    /// As [`SearchOptions::retriever`]; whatever keeps the search from running.
    pub(crate) fn hits(
        &self,
        served: &Served,
        corpora: &[Arc<Opened>],
        cancel: &Cancel,
        (query, mode, k): (&str, Mode, usize),
    ) -> Result<Vec<SearchResult>, Refusal> {
        let retriever = self.retriever(served, corpora)?;
        let retriever = retriever.ok_or(AnswerError::NoCorpus)?;
        let results = retriever.bound(&cancel.token()).search(query, mode, k);
        results.map_err(|error| cancel.refusal(error))
    }

    fn narrowed(&self, served: &Served, opened: &Retriever) -> Result<Retriever, Refusal> {
        let retriever = opened.clone().within(&self.filters)?;
        let set = &served.reranking;
        let by = match &self.rerank {
            None => return Ok(retriever),
            Some(asked) if *asked == set.by => return Ok(retriever),
            Some(Rerank::None) => return Ok(retriever.not_reranked()),
            Some(Rerank::Embedder) => Reranker::Embedder,
            Some(Rerank::Likelihood) => Reranker::Likelihood(Arc::clone(&served.pipeline.model)),
            // Requests load no models.
            Some(Rerank::CrossEncoder(_)) => {
                let message = "this reranker is not open here";
                return Err(Refusal::bad("reranker_unavailable", message).of("rerank"));
            }
        };
        Ok(retriever.reranked(Reranking::new(by, set.depth, set.chunk)))
    }
}

/// The names of corpora, as a request gives them.
fn names(given: Option<&Texts>) -> Vec<String> {
    given.cloned().map(Vec::from).unwrap_or_default()
}

/// Whether filters are few enough to be compared with every document.
fn few(filters: &[Filter], param: &str) -> Result<(), Refusal> {
    let comparisons: usize = filters.iter().map(Filter::comparisons).sum();
    if filters.len() > MOST_COMPARISONS || comparisons > MOST_COMPARISONS {
        let message = format!("filters can make at most {MOST_COMPARISONS} comparisons");
        return Err(Refusal::bad("too_many_filters", message).of(param));
    }
    Ok(())
}

fn filters(param: &str, given: &[String]) -> Result<Vec<Filter>, Refusal> {
    let filters = given
        .iter()
        .filter_map(|text| parsed(param, Some(text)).transpose());
    let filters = filters.collect::<Result<Vec<Filter>, Refusal>>()?;
    few(&filters, param)?;
    Ok(filters)
}

/// A value of a parameter, or the refusal that names it.
pub(super) fn parsed<T: FromStr<Err: ToString>>(
    param: &str,
    text: Option<&str>,
) -> Result<Option<T>, Refusal> {
    let parsed = text.map(str::parse::<T>).transpose();
    parsed.map_err(|error| Refusal::invalid(param, error.to_string()))
}
