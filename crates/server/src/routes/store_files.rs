//! `/v1/vector_stores/{id}/files`: the files that were put into a corpus.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::http::header;
use axum::response::IntoResponse;
use ken_corpus::Corpus as Passages;

use super::call::{Call, Corpus, JsonBody};
use super::pieces::{self, Broken};
use super::reply::Reply;
use super::{files, jobs};
use crate::access::caller::Caller;
use crate::service::corpora::Opened;
use crate::service::library::job::Work;
use crate::service::library::stores::{Membership, StoreFile};
use crate::service::library::{Attached, Library};
use crate::wire::files::Deleted;
use crate::wire::page::{Listed, Page};
use crate::wire::refusal::Refusal;
use crate::wire::vector_stores::{AttachFile, DescribeFile, FileText, FoundText, VectorStoreFile};
use crate::wire::{attributes, others, query};

/// The most files at once.
const MOST: usize = 500;

/// Passages in a piece of a file's text.
const PASSAGES: usize = 256;

/// The files that a client names, with the attributes of their documents. `param` is where it names them.
///
/// # Errors
/// Too many; one that is named twice, does not exist or is not for the caller; attributes that cannot be taken.
pub(super) fn given(
    library: &Library,
    caller: &Caller,
    named: impl Iterator<Item = AttachFile>,
    param: &str,
) -> Result<Vec<Attached>, Refusal> {
    let mut all: Vec<Attached> = Vec::new();
    for file in named {
        let refused = |message: String| Err(Refusal::invalid(param, message));
        if all.len() == MOST {
            return refused(format!("at most {MOST} files can be given at once"));
        }
        if all.iter().any(|known| known.record.id == file.file_id) {
            return refused(format!("the file {:?} is given twice", file.file_id));
        }
        all.push(attached(library, caller, file)?);
    }
    Ok(all)
}

/// A file that a client names.
fn attached(library: &Library, caller: &Caller, file: AttachFile) -> Result<Attached, Refusal> {
    others::refuse_of_store(&file.others)?;
    let attributes = file.attributes.unwrap_or_default();
    attributes::check(&attributes, "attributes")?;
    let record = files::find(library, &file.file_id, caller)?;
    Ok(Attached { record, attributes })
}

/// Puts a file into a corpus.
pub(crate) async fn attach(
    call: Call<Corpus>,
    body: JsonBody<AttachFile>,
) -> Result<Reply<VectorStoreFile>, Refusal> {
    let asked = body.read().await?;
    let member = call.blocking(move |call| {
        let (library, caller, Corpus(name)) = (call.served.library()?, call.caller(), &call.path);
        let corpora = &call.served.corpora;
        library.place(corpora, name)?;
        let file = attached(library, caller, asked)?;
        let member = library.attach(corpora, name, &file, caller.key())?;
        Ok(VectorStoreFile::new(name, member))
    });
    Ok(Reply::json(&member.await?))
}

/// The files of a corpus, newest first; `filter` in the query selects those of one status.
pub(crate) async fn list(call: Call<Corpus>) -> Result<Reply<Listed<VectorStoreFile>>, Refusal> {
    let page = call.page()?;
    let listed = call.blocking(move |call| {
        let (library, Corpus(name)) = (call.served.library()?, &call.path);
        library.place(&call.served.corpora, name)?;
        let members = library.stores.files(name)?;
        paged(&page, call.query(), name, members)
    });
    Ok(Reply::json(&listed.await?))
}

/// A page of files, newest first, of the status that the query names.
///
/// # Errors
/// As [`Page::of`], and a status that there is not.
pub(super) fn paged(
    page: &Page,
    query: Option<&str>,
    corpus: &str,
    mut members: Vec<StoreFile>,
) -> Result<Listed<VectorStoreFile>, Refusal> {
    members.sort_by(|left, right| (right.created, &right.file).cmp(&(left.created, &left.file)));
    let mut pairs = query::pairs(query);
    if let Some((_, status)) = pairs.find(|(name, value)| name == "filter" && !value.is_empty()) {
        let status: Membership = serde_json::from_value(status.into()).map_err(|_| {
            let message = "it must be `in_progress`, `completed`, `failed` or `cancelled`";
            Refusal::invalid("filter", message)
        })?;
        members.retain(|member| member.status == status);
    }
    let files = members.into_iter();
    let files = files
        .map(|file| VectorStoreFile::new(corpus, file))
        .collect();
    page.of(files, |member: &VectorStoreFile| &member.id)
}

/// The file of a corpus in the path.
fn member(call: &Call<(Corpus, String)>) -> Result<StoreFile, Refusal> {
    let (library, (Corpus(name), file)) = (call.served.library()?, &call.path);
    // Only a name of a corpus may be used as a path.
    library.place(&call.served.corpora, name)?;
    library.stores.file(name, file)?.ok_or_else(|| {
        let message = format!("there is no file {file:?} in {name:?}");
        Refusal::not_found("unknown_file", message).of("file_id")
    })
}

/// One of them.
pub(crate) async fn one(call: Call<(Corpus, String)>) -> Result<Reply<VectorStoreFile>, Refusal> {
    let member = call.blocking(|call| Ok(VectorStoreFile::new(&call.path.0.0, member(call)?)));
    Ok(Reply::json(&member.await?))
}

/// Changes the attributes by which a file's documents can be filtered.
pub(crate) async fn describe(
    call: Call<(Corpus, String)>,
    body: JsonBody<DescribeFile>,
) -> Result<Reply<VectorStoreFile>, Refusal> {
    let DescribeFile { attributes } = body.read().await?;
    attributes::check(&attributes, "attributes")?;
    let described = call.blocking(move |call| {
        let before = member(call)?;
        let (library, (Corpus(name), file)) = (call.served.library()?, &call.path);
        let after = StoreFile {
            attributes: attributes.clone(),
            ..before
        };
        let file = file.clone();
        let work = Work::Describe { file, attributes };
        let job = library.submit(name, work, call.caller().key())?;
        Ok((job, VectorStoreFile::new(name, after)))
    });
    let (job, described) = described.await?;
    jobs::ended(&job).await?;
    Ok(Reply::json(&described))
}

/// Removes a file from a corpus; the file itself stays.
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

/// The text of a file as it is searched, a part for each passage.
pub(crate) async fn content(call: Call<(Corpus, String)>) -> Result<Reply<FileText>, Refusal> {
    let text = call.blocking(|call| {
        let documents = member(call)?.documents.into();
        let opened = call.served.corpora.find(Some(&call.path.0.0), None);
        let opened = opened.ok().flatten();
        Ok(FileTextPieces {
            opened,
            documents,
            ..FileTextPieces::default()
        })
    });
    let mut text = text.await?;
    let headers = [(header::CONTENT_TYPE, "application/json")];
    Ok((headers, pieces::body(move || text.next()))
        .into_response()
        .into())
}

/// A [`FileText`] that is written piece by piece.
#[derive(Default)]
struct FileTextPieces {
    /// The corpus; `None` if it is empty.
    opened: Option<Arc<Opened>>,
    /// The remaining documents.
    documents: VecDeque<String>,
    /// The last passage written of the first of them.
    after: Option<String>,
    begun: bool,
    has_parts: bool,
    ended: bool,
}

impl FileTextPieces {
    fn next(&mut self) -> Result<Option<Vec<u8>>, Broken> {
        if !std::mem::replace(&mut self.begun, true) {
            let start = r#"{"object":"vector_store.file_content.page","data":["#;
            return Ok(Some(start.into()));
        }
        if let Some(document) = self.documents.front().cloned() {
            let opened = self.opened.clone();
            let corpus = opened
                .as_ref()
                .and_then(|corpus| corpus.retriever.back_end().corpus());
            return match corpus {
                Some(corpus) => self.parts(corpus, &document).map(Some),
                None => {
                    self.documents.clear();
                    Ok(Some(Vec::new()))
                }
            };
        }
        let end = r#"],"has_more":false,"next_page":null}"#;
        Ok((!std::mem::replace(&mut self.ended, true)).then(|| end.into()))
    }

    /// The next passages of a document, without those that are left out of every result.
    fn parts(&mut self, corpus: &Passages, document: &str) -> Result<Vec<u8>, Broken> {
        let mut parts = Vec::new();
        let (after, mut count) = (self.after.take(), 0);
        let passages = corpus.passages_of(document, after.as_deref())?;
        for passage in passages.into_iter().flatten().take(PASSAGES) {
            let (passage, is_live) = passage?;
            count += 1;
            self.after = Some(passage.id.0);
            if is_live {
                if std::mem::replace(&mut self.has_parts, true) {
                    parts.push(b',');
                }
                let text = passage.text;
                serde_json::to_writer(&mut parts, &FoundText { kind: "text", text })?;
            }
        }
        if count < PASSAGES {
            self.documents.pop_front();
            self.after = None;
        }
        Ok(parts)
    }
}
