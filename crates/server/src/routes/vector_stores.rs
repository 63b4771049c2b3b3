//! `/v1/vector_stores`: corpora as OpenAI's API has them, with the files that were put into them.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use ken_answer::{AnswerError, SearchResult};
use serde_json::{Map, Value};

use super::path::Path;
use super::state::App;
use super::{changes, files, jobs};
use crate::access::caller::Caller;
use crate::access::keys::Scope;
use crate::service::answering::Request;
use crate::service::asked::Searched;
use crate::service::clock::unix_seconds;
use crate::service::library::job::Work;
use crate::service::library::stores::{MadeCorpus, StoreFile};
use crate::service::library::{Library, new_id};
use crate::service::readable;
use crate::service::served::Served;
use crate::service::work::{self, blocking};
use crate::wire::body;
use crate::wire::files::{
    AttachFile, Deleted, FileCounts, FoundText, MakeVectorStore, Queries, SearchVectorStore,
    VectorStore, VectorStoreFile, VectorStoreResult, VectorStoreResults,
};
use crate::wire::page::Page;
use crate::wire::refusal::Refusal;

/// Passages found where nobody says how many.
const FOUND: usize = 10;

/// The most queries of a search, and the most files at once.
const MOST: usize = 100;

/// A corpus as it is now.
fn described(served: &Served, library: &Library, name: &str) -> Result<VectorStore, Refusal> {
    library.place(&served.corpora, name)?;
    let made = library
        .stores
        .find(name)
        .map_err(|error| Refusal::failed(&error))?;
    let members = library
        .stores
        .files(name)
        .map_err(|error| Refusal::failed(&error))?;
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
    let mut made = library
        .stores
        .made()
        .map_err(|error| Refusal::failed(&error))?;
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
fn refuse_unsupported(others: &Map<String, Value>) -> Result<(), Refusal> {
    for (name, value) in others {
        let changes = matches!(name.as_str(), "chunking_strategy" | "expires_after");
        let is_automatic = value["type"] == "auto";
        if changes && !value.is_null() && !is_automatic {
            let message = format!("`{name}` is not supported here with this value");
            return Err(Refusal::bad("unsupported_parameter", message).of(name));
        }
    }
    Ok(())
}

/// All of them.
pub(crate) async fn list(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    address: Uri,
) -> Result<Response, Refusal> {
    request.caller.may(Scope::Write)?;
    let page = Page::read(address.query())?;
    let served = Arc::clone(&app.served);
    let all = blocking(move || {
        let library = served.library()?;
        let names = names(&served, library, &request.caller)?.into_iter();
        names
            .map(|name| described(&served, library, &name))
            .collect::<Result<Vec<_>, _>>()
    });
    Ok(body::json(&page.of(all.await?, |store| &store.id)))
}

/// Makes one.
pub(crate) async fn make(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    body: Body,
) -> Result<Response, Refusal> {
    request.caller.may(Scope::Write)?;
    app.served.library()?;
    // Clients send no body where they say nothing.
    let bytes = body::bytes_or_none(body).await?;
    let asked: MakeVectorStore = match bytes.is_empty() {
        true => MakeVectorStore::default(),
        false => body::value(&bytes)?,
    };
    refuse_unsupported(&asked.others)?;
    if asked.file_ids.len() > MOST {
        let message = format!("at most {MOST} files can be given at once");
        return Err(Refusal::bad("invalid_value", message).of("file_ids"));
    }
    let name = asked.name.filter(|name| !name.is_empty());
    let name = name.unwrap_or_else(|| new_id("vs_"));
    request.caller.must_read(&name)?;
    let served = Arc::clone(&app.served);
    let store = blocking(move || {
        let library = served.library()?;
        let files = asked.file_ids.iter();
        let files = files.map(|id| files::find(library, id, &request.caller));
        let files = files.collect::<Result<Vec<_>, _>>()?;
        let made = MadeCorpus {
            name,
            created: unix_seconds(),
            metadata: asked.metadata.unwrap_or_default(),
        };
        library.make(&served.corpora, &made)?;
        for file in &files {
            library.attach(&served.corpora, &made.name, file, request.caller.key())?;
        }
        described(&served, library, &made.name)
    });
    Ok(body::json(&store.await?))
}

/// One of them.
pub(crate) async fn one(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    Path(name): Path<String>,
) -> Result<Response, Refusal> {
    request.caller.may(Scope::Write)?;
    request.caller.must_read(&name)?;
    let served = Arc::clone(&app.served);
    let store = blocking(move || described(&served, served.library()?, &name));
    Ok(body::json(&store.await?))
}

/// Removes one with all that is in it; the files stay.
pub(crate) async fn delete(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    Path(name): Path<String>,
) -> Result<Response, Refusal> {
    let job = changes::drop_corpus(&app, &request, name.clone()).await?;
    jobs::ended(&job).await?;
    Ok(body::json(&Deleted {
        id: name,
        object: "vector_store.deleted",
        deleted: job.state().status.is_over(),
        generation: None,
    }))
}

/// Puts a file into one.
pub(crate) async fn attach(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    Path(name): Path<String>,
    body: Body,
) -> Result<Response, Refusal> {
    request.caller.may(Scope::Write)?;
    request.caller.must_read(&name)?;
    let asked: AttachFile = body::read(body).await?;
    refuse_unsupported(&asked.others)?;
    if asked.attributes.is_some_and(|given| !given.is_empty()) {
        let message = "documents say themselves what can be filtered by";
        return Err(Refusal::bad("unsupported_parameter", message).of("attributes"));
    }
    let served = Arc::clone(&app.served);
    let member = blocking(move || {
        let library = served.library()?;
        library.place(&served.corpora, &name)?;
        let file = files::find(library, &asked.file_id, &request.caller)?;
        let key = request.caller.key();
        let (member, _) = library.attach(&served.corpora, &name, &file, key)?;
        Ok(VectorStoreFile::new(&name, member))
    });
    Ok(body::json(&member.await?))
}

/// The files of one, newest first; `filter` in the query takes those of a status only.
pub(crate) async fn list_files(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    Path(name): Path<String>,
    address: Uri,
) -> Result<Response, Refusal> {
    request.caller.may(Scope::Write)?;
    request.caller.must_read(&name)?;
    let page = Page::read(address.query())?;
    let pairs = address.query().unwrap_or_default().split('&');
    let status = pairs.filter_map(|pair| pair.strip_prefix("filter=")).next();
    let status = status.map(Value::from);
    let served = Arc::clone(&app.served);
    let members = blocking(move || {
        let library = served.library()?;
        library.place(&served.corpora, &name)?;
        let mut members = library
            .stores
            .files(&name)
            .map_err(|error| Refusal::failed(&error))?;
        members.sort_by(|one, other| (other.created, &other.file).cmp(&(one.created, &one.file)));
        let has = |member: &StoreFile, status: &Value| {
            serde_json::to_value(member.status).is_ok_and(|own| own == *status)
        };
        members.retain(|member| status.as_ref().is_none_or(|status| has(member, status)));
        let members = members.into_iter();
        Ok(members
            .map(|member| VectorStoreFile::new(&name, member))
            .collect::<Vec<_>>())
    });
    Ok(body::json(&page.of(members.await?, |member| &member.id)))
}

fn member(served: &Served, name: &str, file: &str) -> Result<StoreFile, Refusal> {
    let library = served.library()?;
    // Only then it is a name, and not the path of something else.
    library.place(&served.corpora, name)?;
    let found = library
        .stores
        .file(name, file)
        .map_err(|error| Refusal::failed(&error))?;
    found.ok_or_else(|| {
        let message = format!("there is no file {file:?} in {name:?}");
        Refusal::new(StatusCode::NOT_FOUND, "unknown_file", message).of("file_id")
    })
}

/// One of them.
pub(crate) async fn one_file(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    Path((name, file)): Path<(String, String)>,
) -> Result<Response, Refusal> {
    request.caller.may(Scope::Write)?;
    request.caller.must_read(&name)?;
    let served = Arc::clone(&app.served);
    let member = blocking(move || {
        let member = member(&served, &name, &file)?;
        Ok(VectorStoreFile::new(&name, member))
    });
    Ok(body::json(&member.await?))
}

/// Takes a file out of one; the file stays.
pub(crate) async fn detach(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    Path((name, file)): Path<(String, String)>,
) -> Result<Response, Refusal> {
    request.caller.may(Scope::Write)?;
    request.caller.must_read(&name)?;
    let (served, id) = (Arc::clone(&app.served), file.clone());
    let job = blocking(move || {
        let library = served.library()?;
        member(&served, &name, &file)?;
        library
            .cancel_attaching(&name, &file)
            .map_err(|error| Refusal::failed(&error))?;
        library.submit(&name, Work::Detach { file }, request.caller.key())
    });
    let job = job.await?;
    jobs::ended(&job).await?;
    let state = job.state();
    Ok(body::json(&Deleted {
        id,
        object: "vector_store.file.deleted",
        deleted: state.status.is_over(),
        generation: state.generation,
    }))
}

/// Searches one.
pub(crate) async fn search(
    State(app): State<App>,
    Extension(request): Extension<Request>,
    Path(name): Path<String>,
    body: Body,
) -> Result<Response, Refusal> {
    request.caller.may(Scope::Search)?;
    request.caller.must_read(&name)?;
    let asked: SearchVectorStore = body::read(body).await?;
    let queries = match asked.query {
        Queries::One(query) => vec![query],
        Queries::Many(queries) => queries,
    };
    if queries.is_empty() || queries.len() > MOST {
        let message = format!("it must be 1 to {MOST} texts");
        return Err(Refusal::bad("invalid_value", message).of("query"));
    }
    let filters = asked.filters.as_ref().map(|filter| filter.read());
    let filters = filters.transpose()?.unwrap_or_default();
    let searched = Searched::default().or(Some(&name), asked.max_num_results, filters)?;
    let corpus = searched.corpus(&app.served, &request.caller)?;
    let corpus = corpus.ok_or(AnswerError::NoCorpus)?;
    for query in &queries {
        readable::check(query, corpus.retriever.embedder().max_tokens())
            .map_err(|refusal| refusal.of("query"))?;
    }
    let (k, mode) = searched.amount(FOUND, app.served.pipeline.settings.mode);
    let found = work::in_pieces(
        &app.served,
        |served| &served.searches,
        work::deadline(&app.served),
        queries.clone(),
        move |served, cancel, query| {
            let retriever = searched.retriever(served, &corpus.retriever)?;
            let retriever = retriever.bound(&cancel.token());
            let hits = retriever.search(&query, mode, k);
            let hits = hits.map_err(|error| cancel.refusal(error))?.into_iter();
            let named = hits.map(|hit| result(served, &corpus.name, hit));
            Ok(named.collect::<Vec<_>>())
        },
    );
    let found = found.await?.into_iter().flatten().collect();
    Ok(body::json(&VectorStoreResults {
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
