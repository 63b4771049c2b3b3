//! `/v1/vector_stores`: corpora as OpenAI's API has them, with the files that were put into them.

use ken_answer::SearchResult;
use serde_json::{Map, Value};

use super::call::{Call, Corpus, JsonBody};
use super::reply::Reply;
use super::{changes, files, jobs, search};
use crate::access::caller::Caller;
use crate::service::clock::unix_seconds;
use crate::service::library::job::Work;
use crate::service::library::stores::{MadeCorpus, StoreFile};
use crate::service::library::{Library, new_id};
use crate::service::options::SearchOptions;
use crate::service::resources::Served;
use crate::wire::files::{
    AttachFile, Deleted, FileCounts, FoundText, MakeVectorStore, Queries, SearchVectorStore,
    VectorStore, VectorStoreFile, VectorStoreResult, VectorStoreResults,
};
use crate::wire::others;
use crate::wire::page::Listed;
use crate::wire::refusal::Refusal;

/// Passages found where nobody says how many.
const FOUND: usize = 10;

/// The most queries of a search, and the most files at once.
const MOST: usize = 100;

/// A corpus as it is now.
fn described(served: &Served, library: &Library, name: &str) -> Result<VectorStore, Refusal> {
    library.place(&served.corpora, name)?;
    let made = library.stores.find(name)?;
    let members = library.stores.files(name)?;
    let counts = FileCounts::of(&members);
    let opened = served.corpora.find(Some(name), None).ok().flatten();
    Ok(VectorStore {
        id: name.to_owned(),
        object: "vector_store",
        created_at: made.as_ref().map_or(served.started, |made| made.created),
        name: name.to_owned(),
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

/// Refuses what would change what is found, and is not done here.
fn refuse_unsupported(given: &Map<String, Value>) -> Result<(), Refusal> {
    others::refuse(given, |name, value| {
        !matches!(name, "chunking_strategy" | "expires_after") || value["type"] == "auto"
    })
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
        &page.of(all.await?, |store: &VectorStore| &store.id),
    ))
}

/// Makes one.
pub(crate) async fn make(
    call: Call,
    body: JsonBody<MakeVectorStore>,
) -> Result<Reply<VectorStore>, Refusal> {
    call.served.library()?;
    // Clients send no body where they say nothing.
    let asked = body.read_or_default().await?;
    refuse_unsupported(&asked.others)?;
    if asked.file_ids.len() > MOST {
        let message = format!("at most {MOST} files can be given at once");
        return Err(Refusal::bad("invalid_value", message).of("file_ids"));
    }
    let name = asked.name.filter(|name| !name.is_empty());
    let name = name.unwrap_or_else(|| new_id("vs_"));
    call.caller().must_read(&name)?;
    let store = call.blocking(move |call| {
        let (library, caller, corpora) =
            (call.served.library()?, call.caller(), &call.served.corpora);
        let files = asked.file_ids.iter();
        let files = files.map(|id| files::find(library, id, caller));
        let files = files.collect::<Result<Vec<_>, _>>()?;
        let made = MadeCorpus {
            name,
            created: unix_seconds(),
            metadata: asked.metadata.unwrap_or_default(),
        };
        library.make(corpora, &made)?;
        for file in &files {
            library.attach(corpora, &made.name, file, caller.key())?;
        }
        described(&call.served, library, &made.name)
    });
    Ok(Reply::json(&store.await?))
}

/// One of them.
pub(crate) async fn one(call: Call<Corpus>) -> Result<Reply<VectorStore>, Refusal> {
    let store = call.blocking(|call| described(&call.served, call.served.library()?, &call.path.0));
    Ok(Reply::json(&store.await?))
}

/// Removes one with all that is in it; the files stay.
pub(crate) async fn delete(call: Call<Corpus>) -> Result<Reply<Deleted>, Refusal> {
    let id = call.path.0.clone();
    let job = changes::drop_corpus(call).await?;
    jobs::ended(&job).await?;
    Ok(Reply::json(&Deleted {
        deleted: job.state().status.is_over(),
        ..Deleted::of("vector_store.deleted", id)
    }))
}

/// Puts a file into one.
pub(crate) async fn attach(
    call: Call<Corpus>,
    body: JsonBody<AttachFile>,
) -> Result<Reply<VectorStoreFile>, Refusal> {
    let asked = body.read().await?;
    refuse_unsupported(&asked.others)?;
    if asked.attributes.is_some_and(|given| !given.is_empty()) {
        let message = "documents say themselves what can be filtered by";
        return Err(Refusal::bad("unsupported_parameter", message).of("attributes"));
    }
    let member = call.blocking(move |call| {
        let (library, caller, Corpus(name)) = (call.served.library()?, call.caller(), &call.path);
        let corpora = &call.served.corpora;
        library.place(corpora, name)?;
        let file = files::find(library, &asked.file_id, caller)?;
        let (member, _) = library.attach(corpora, name, &file, caller.key())?;
        Ok(VectorStoreFile::new(name, member))
    });
    Ok(Reply::json(&member.await?))
}

/// The files of one, newest first; `filter` in the query takes those of a status only.
pub(crate) async fn list_files(
    call: Call<Corpus>,
) -> Result<Reply<Listed<VectorStoreFile>>, Refusal> {
    let page = call.page()?;
    let members = call.blocking(|call| {
        let (library, Corpus(name)) = (call.served.library()?, &call.path);
        library.place(&call.served.corpora, name)?;
        let mut members = library.stores.files(name)?;
        members.sort_by(|one, other| (other.created, &other.file).cmp(&(one.created, &one.file)));
        let mut pairs = call.query().unwrap_or_default().split('&');
        if let Some(status) = pairs.find_map(|pair| pair.strip_prefix("filter=")) {
            members.retain(|member| {
                serde_json::to_value(member.status).is_ok_and(|own| own == status)
            });
        }
        let files = members.into_iter();
        Ok(files.map(|file| VectorStoreFile::new(name, file)).collect())
    });
    let members: Vec<VectorStoreFile> = members.await?;
    Ok(Reply::json(&page.of(members, |member| &member.id)))
}

/// The file of a corpus in the path.
fn member(call: &Call<(Corpus, String)>) -> Result<StoreFile, Refusal> {
    let (library, (Corpus(name), file)) = (call.served.library()?, &call.path);
    // Only then it is a name, and not the path of something else.
    library.place(&call.served.corpora, name)?;
    library.stores.file(name, file)?.ok_or_else(|| {
        let message = format!("there is no file {file:?} in {name:?}");
        Refusal::not_found("unknown_file", message).of("file_id")
    })
}

/// One of them.
pub(crate) async fn one_file(
    call: Call<(Corpus, String)>,
) -> Result<Reply<VectorStoreFile>, Refusal> {
    let member = call.blocking(|call| Ok(VectorStoreFile::new(&call.path.0.0, member(call)?)));
    Ok(Reply::json(&member.await?))
}

/// Takes a file out of one; the file stays.
pub(crate) async fn detach(call: Call<(Corpus, String)>) -> Result<Reply<Deleted>, Refusal> {
    let id = call.path.1.clone();
    let job = call.blocking(|call| {
        member(call)?;
        let (library, (Corpus(name), file)) = (call.served.library()?, &call.path);
        library.cancel_attaching(name, file)?;
        let file = file.clone();
        library.submit(name, Work::Detach { file }, call.caller().key())
    });
    let job = job.await?;
    jobs::ended(&job).await?;
    let state = job.state();
    Ok(Reply::json(&Deleted {
        deleted: state.status.is_over(),
        generation: state.generation,
        ..Deleted::of("vector_store.file.deleted", id)
    }))
}

/// Searches one.
pub(crate) async fn search(
    call: Call<Corpus>,
    body: JsonBody<SearchVectorStore>,
) -> Result<Reply<VectorStoreResults>, Refusal> {
    let asked = body.read().await?;
    let queries = match asked.query {
        Queries::One(query) => vec![query],
        Queries::Many(queries) => queries,
    };
    if queries.is_empty() || queries.len() > MOST {
        let message = format!("it must be 1 to {MOST} texts");
        return Err(Refusal::bad("invalid_value", message).of("query"));
    }
    others::refuse_threshold(asked.ranking_options.as_ref())?;
    let filters = asked.filters.as_ref().map(|filter| filter.read());
    let filters = filters.transpose()?.into_iter().collect();
    let Corpus(name) = &call.path;
    let searched = SearchOptions::default().or(Some(name), asked.max_num_results, filters)?;
    let corpus = searched.some_corpus(&call.served, call.caller())?;
    let k = asked.max_num_results.unwrap_or(FOUND);
    let found = search::find_each(&call, searched, &corpus, queries.clone(), ("query", FOUND));
    let found = found.await?.into_iter().flatten();
    let found = found.map(|hit| result(&call.served, &corpus.name, hit));
    let found = found.collect();
    Ok(Reply::json(&VectorStoreResults {
        object: "vector_store.search_results.page",
        search_query: queries,
        data: best(found, k),
        has_more: false,
        next_page: None,
    }))
}

/// What was found, with the id of the passage.
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
    // Stable, so that one query's order stays.
    found.sort_by(|(_, one), (_, other)| other.score.total_cmp(&one.score));
    let mut seen = std::collections::HashSet::new();
    found.retain(|(passage, _)| seen.insert(passage.clone()));
    found.truncate(k);
    found.into_iter().map(|(_, result)| result).collect()
}
