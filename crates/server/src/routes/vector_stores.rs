//! `/v1/vector_stores`: corpora as OpenAI's API has them. Their files are in `store_files` and `file_batches`.

use std::collections::BTreeMap;

use ken_answer::SearchResult;

use super::call::{Call, Corpus, JsonBody};
use super::reply::Reply;
use super::store_files::given;
use super::{changes, jobs, search};
use crate::access::caller::Caller;
use crate::service::clock::unix_seconds;
use crate::service::library::stores::MadeCorpus;
use crate::service::library::{Library, new_id};
use crate::service::resources::Served;
use crate::service::search_options::{EMPTY, SearchOptions};
use crate::wire::files::Deleted;
use crate::wire::page::Listed;
use crate::wire::refusal::Refusal;
use crate::wire::vector_stores::{
    AttachFile, ChangeVectorStore, FileCounts, FoundText, MakeVectorStore, SearchVectorStore,
    VectorStore, VectorStoreResult, VectorStoreResults,
};
use crate::wire::{attributes, others};

/// The default number of passages.
const FOUND: usize = 10;

/// The most queries of a search.
const MOST_QUERIES: usize = 100;

/// The longest name, in characters.
const LONGEST_NAME: usize = 256;

/// A corpus in its current state.
fn described(served: &Served, library: &Library, name: &str) -> Result<VectorStore, Refusal> {
    library.place(&served.corpora, name)?;
    let made = library.stores.find(name)?;
    let members = library.stores.files(name)?;
    let counts = FileCounts::of(&members);
    let opened = served.corpora.find(Some(name), None).ok().flatten();
    let title = made.as_ref().and_then(|made| made.title.clone());
    Ok(VectorStore {
        id: name.to_owned(),
        object: "vector_store",
        created_at: made.as_ref().map_or(served.started, |made| made.created),
        name: title.unwrap_or_else(|| name.to_owned()),
        usage_bytes: members.iter().map(|member| member.bytes).sum(),
        status: counts.status(),
        file_counts: counts,
        expires_after: None,
        expires_at: None,
        last_active_at: None,
        metadata: made.map(|made| made.metadata).unwrap_or_default(),
        generation: opened.map(|opened| opened.state().generation),
    })
}

/// The names of all corpora that the caller may see, newest first.
fn names(served: &Served, library: &Library, caller: &Caller) -> Result<Vec<String>, Refusal> {
    let mut made = library.stores.made()?;
    made.sort_by_key(|made| std::cmp::Reverse(made.created));
    let mut names: Vec<String> = made.into_iter().map(|made| made.name).collect();
    for opened in served.corpora.all() {
        if !names.contains(&opened.name) && library.place(&served.corpora, &opened.name).is_ok() {
            names.push(opened.name.clone());
        }
    }
    names.retain(|name| caller.may_read(name));
    Ok(names)
}

/// All corpora that the caller may see, newest first.
pub(crate) async fn list(call: Call) -> Result<Reply<Listed<VectorStore>>, Refusal> {
    let page = call.page()?;
    let all = call.blocking(|call| {
        let library = call.served.library()?;
        let names = names(&call.served, library, call.caller())?.into_iter();
        names
            .map(|name| described(&call.served, library, &name))
            .collect()
    });
    Ok(Reply::json(
        &page.of(all.await?, |store: &VectorStore| &store.id)?,
    ))
}

/// Makes one.
pub(crate) async fn make(
    call: Call,
    body: JsonBody<MakeVectorStore>,
) -> Result<Reply<VectorStore>, Refusal> {
    call.served.library()?;
    // Clients that set nothing send no body.
    let asked = body.read_or_default().await?;
    others::refuse_of_store(&asked.others)?;
    let title = checked(asked.name, asked.metadata.as_ref())?;
    if !call.caller().may_read_all() {
        let message = "the key is for some corpora, of which a new vector store is none: make one of them by \
                       POST /v1/ken/corpora";
        return Err(Refusal::forbidden("insufficient_scope", message));
    }
    let store = call.blocking(move |call| {
        let (library, caller) = (call.served.library()?, call.caller());
        let files = asked.file_ids.into_iter().map(AttachFile::plain);
        let files = given(library, caller, files, "file_ids")?;
        let made = MadeCorpus {
            name: new_id("vs_"),
            title,
            created: unix_seconds(),
            metadata: asked.metadata.unwrap_or_default(),
        };
        library.make(&call.served.corpora, &made)?;
        library.attach_each(&made.name, files, caller.key())?;
        described(&call.served, library, &made.name)
    });
    Ok(Reply::json(&store.await?))
}

/// Checks the name for people and the metadata against their limits; returns the name.
fn checked(
    name: Option<String>,
    metadata: Option<&BTreeMap<String, String>>,
) -> Result<Option<String>, Refusal> {
    metadata.map_or(Ok(()), attributes::check_metadata)?;
    let name = name.filter(|name| !name.is_empty());
    if name
        .as_ref()
        .is_some_and(|name| name.chars().count() > LONGEST_NAME)
    {
        let message = format!("a name has at most {LONGEST_NAME} characters");
        return Err(Refusal::invalid("name", message));
    }
    Ok(name)
}

/// Changes the name or the metadata of one.
pub(crate) async fn change(
    call: Call<Corpus>,
    body: JsonBody<ChangeVectorStore>,
) -> Result<Reply<VectorStore>, Refusal> {
    let asked = body.read().await?;
    others::refuse_of_store(&asked.others)?;
    let title = checked(asked.name, asked.metadata.as_ref())?;
    let store = call.blocking(move |call| {
        let (library, Corpus(name)) = (call.served.library()?, &call.path);
        library.place(&call.served.corpora, name)?;
        let Some(made) = library.stores.find(name)? else {
            let message = format!("the corpus {name:?} is one of the settings, and keeps its name");
            return Err(Refusal::forbidden("corpus_of_settings", message));
        };
        library.stores.make(&MadeCorpus {
            title: title.or(made.title),
            metadata: asked.metadata.unwrap_or(made.metadata),
            ..made
        })?;
        described(&call.served, library, name)
    });
    Ok(Reply::json(&store.await?))
}

/// One of them.
pub(crate) async fn one(call: Call<Corpus>) -> Result<Reply<VectorStore>, Refusal> {
    let store = call.blocking(|call| described(&call.served, call.served.library()?, &call.path.0));
    Ok(Reply::json(&store.await?))
}

/// Removes a corpus with its contents; the files stay.
pub(crate) async fn delete(call: Call<Corpus>) -> Result<Reply<Deleted>, Refusal> {
    let id = call.path.0.clone();
    let job = changes::drop_corpus(call).await?;
    jobs::ended(&job).await?;
    Ok(Reply::json(&Deleted {
        deleted: job.state().status.is_over(),
        ..Deleted::of("vector_store.deleted", id)
    }))
}

/// Searches one.
pub(crate) async fn search(
    call: Call<Corpus>,
    body: JsonBody<SearchVectorStore>,
) -> Result<Reply<VectorStoreResults>, Refusal> {
    let asked = body.read().await?;
    let queries = Vec::from(asked.query);
    if queries.is_empty() || queries.len() > MOST_QUERIES {
        let message = format!("it must be 1 to {MOST_QUERIES} texts");
        return Err(Refusal::invalid("query", message));
    }
    let least = others::threshold(asked.ranking_options.as_ref())?;
    let filters = asked.filters.as_ref().map(|filter| filter.read());
    let filters = filters.transpose()?.into_iter().collect();
    let Corpus(name) = &call.path;
    let searched = SearchOptions::of(Some(name.clone()));
    let searched = searched.or(&[], asked.max_num_results, filters)?;
    let searched = searched.at_least(least);
    let k = asked.max_num_results.unwrap_or(FOUND);
    let found = async {
        let corpora = searched.some_corpora(&call.served, call.caller())?;
        let named = ("query", FOUND);
        search::find_each(&call, searched, &corpora, queries.clone(), named).await
    };
    let found = match found.await {
        // As in OpenAI's API, nothing is in an empty store, which is no error.
        Err(refusal) if refusal.code() == EMPTY => Vec::new(),
        found => found?,
    };
    let found = found.into_iter().flatten();
    let results = found.map(|hit| result(&call.served, name, hit)).collect();
    Ok(Reply::json(&VectorStoreResults {
        object: "vector_store.search_results.page",
        search_query: queries,
        data: best(results, k),
        has_more: false,
        next_page: None,
    }))
}

/// A search result, with the id of its passage.
fn result(served: &Served, corpus: &str, hit: SearchResult) -> (String, VectorStoreResult) {
    let (doc_id, title) = (&hit.passage.doc_id, &hit.passage.title);
    let (file_id, filename) = served.file_of(corpus, doc_id, title);
    let result = VectorStoreResult {
        file_id,
        filename,
        score: hit.score,
        attributes: hit.passage.metadata,
        content: [FoundText {
            kind: "text",
            text: hit.text,
        }],
    };
    (hit.passage.id.0, result)
}

/// The best results, each passage once.
fn best(mut found: Vec<(String, VectorStoreResult)>, k: usize) -> Vec<VectorStoreResult> {
    // A stable sort keeps the order within one query.
    found.sort_by(|(_, left), (_, right)| right.score.total_cmp(&left.score));
    let mut seen = std::collections::HashSet::new();
    found.retain(|(passage, _)| seen.insert(passage.clone()));
    found.truncate(k);
    found.into_iter().map(|(_, result)| result).collect()
}
