//! From how a client wants passages found to what is searched: parameters are read and checked, and put over the settings
//! of the server.

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

/// The code of a corpus to which nothing was put yet.
const EMPTY: &str = "empty_corpus";

/// The most comparisons of all filters together.
const MOST_COMPARISONS: usize = 256;

/// How a client wants passages found.
#[derive(Debug, Clone, Default)]
pub(crate) struct SearchOptions {
    /// By their names; none for the first.
    corpora: Vec<String>,
    generation: Option<u64>,
    k: Option<usize>,
    mode: Option<Mode>,
    filters: Vec<Filter>,
    rerank: Option<Rerank>,
    /// The least relevance of what is found, from 0 to 1.
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

    /// Reads those of a question.
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

    /// Fills in what another part of the request says where this one says nothing. Its conditions hold as
    /// well.
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

    /// Leaves out what has less than this relevance.
    pub(crate) fn at_least(self, least: Option<f32>) -> Self {
        Self { least, ..self }
    }

    /// Finds so many passages; `param` is what that is called.
    ///
    /// # Errors
    /// None, or too many.
    pub(crate) fn finding(self, k: Option<usize>, param: &str) -> Result<Self, Refusal> {
        Self { k, ..self }.checked(param)
    }

    /// A corpus by its name and nothing else.
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
                Err(Refusal::bad("invalid_value", message).of(param))
            }
            _ => Ok(self),
        }
    }

    /// Whether it says where to search.
    pub(super) fn names_corpora(&self) -> bool {
        !self.corpora.is_empty()
    }

    /// Whether the first corpus alone is searched, and as the settings say.
    pub(super) fn is_as_set(&self, served: &Served) -> bool {
        let Self {
            corpora,
            generation,
            k,
            mode,
            filters,
            rerank,
            least,
        } = self;
        let all = served.corpora.all();
        let first = all.first().map(|first| first.name.as_str());
        let is_first = corpora.iter().all(|name| Some(name.as_str()) == first);
        let is_set = k.is_none() && mode.is_none() && rerank.is_none() && least.is_none();
        is_first && is_set && generation.is_none() && filters.is_empty()
    }

    /// The corpora to be searched, each once; none where none is served and none is named. Of several, those to which
    /// nothing was put yet are left out, unless that is all of them. Whoever may not search one learns neither whether it
    /// is there nor its name.
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
            if opened.iter().any(|one| one.name == *name) {
                continue;
            }
            match self.corpus(served, caller, Some(name)) {
                Ok(found) => opened.extend(found),
                Err(refusal) if refusal.code() == EMPTY => empty = Some(refusal),
                Err(refusal) => return Err(refusal),
            }
        }
        let bad = |param, message: String| Refusal::bad("invalid_value", message).of(param);
        if opened.len() > MOST_CORPORA {
            let message = format!("at most {MOST_CORPORA} corpora are searched at once");
            return Err(bad("corpus", message));
        }
        if opened.len() > 1 && self.generation.is_some() {
            let message = "a generation is one of a single corpus".to_owned();
            return Err(bad("generation", message));
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
        let found = served.corpora.find(name, self.generation);
        let (Err(_), Some(name), Some(library)) = (&found, name, &served.library) else {
            return found;
        };
        match library.is_empty(&served.corpora, name)? {
            true => Err(Refusal::bad(EMPTY, "nothing was put into the corpus yet").of("corpus")),
            false => found,
        }
    }

    /// The corpora to be searched, where one has to be.
    ///
    /// # Errors
    /// As [`SearchOptions::corpora`]; a server without a corpus.
    pub(crate) fn some_corpora(
        &self,
        served: &Served,
        caller: &Caller,
    ) -> Result<Vec<Arc<Opened>>, Refusal> {
        let found = self.corpora(served, caller)?;
        match found.is_empty() {
            true => Err(AnswerError::NoCorpus.into()),
            false => Ok(found),
        }
    }

    /// The one corpus that is named, or else the first.
    ///
    /// # Errors
    /// As [`SearchOptions::some_corpora`].
    pub(crate) fn some_corpus(
        &self,
        served: &Served,
        caller: &Caller,
    ) -> Result<Arc<Opened>, Refusal> {
        let found = self.corpora(served, caller)?.into_iter().next();
        Ok(found.ok_or(AnswerError::NoCorpus)?)
    }

    /// The passages to find, and how, where the client does not say.
    pub(crate) fn amount(&self, k: usize, mode: Mode) -> (usize, Mode) {
        (self.k.unwrap_or(k), self.mode.unwrap_or(mode))
    }

    /// What searches the corpora, with filters and reranking as they are asked for; `None` for no corpora.
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
    /// As [`SearchOptions::retriever`]; whatever keeps them from being searched.
    pub(crate) fn hits(
        &self,
        served: &Served,
        corpora: &[Arc<Opened>],
        cancel: &Cancel,
        (query, mode, k): (&str, Mode, usize),
    ) -> Result<Vec<SearchResult>, Refusal> {
        let retriever = self.retriever(served, corpora)?;
        let retriever = retriever.ok_or(AnswerError::NoCorpus)?;
        let found = retriever.bound(&cancel.token()).search(query, mode, k);
        found.map_err(|error| cancel.refusal(error))
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
            // A request loads no model.
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
    let each = given.iter().map(|text| parsed(param, Some(text)));
    let each: Result<Vec<Option<Filter>>, Refusal> = each.collect();
    let filters: Vec<Filter> = each?.into_iter().flatten().collect();
    few(&filters, param)?;
    Ok(filters)
}

/// A value of a parameter, or the refusal that names it.
pub(super) fn parsed<T: FromStr<Err: ToString>>(
    param: &str,
    text: Option<&str>,
) -> Result<Option<T>, Refusal> {
    let parsed = text.map(str::parse::<T>).transpose();
    parsed.map_err(|error| Refusal::bad("invalid_value", error.to_string()).of(param))
}
