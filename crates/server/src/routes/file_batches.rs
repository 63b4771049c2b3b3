//! `/v1/vector_stores/{id}/file_batches`: files that clients put into a corpus together.

use super::call::{Call, Corpus, JsonBody};
use super::reply::Reply;
use super::store_files::{given, paged};
use crate::service::clock::unix_seconds;
use crate::service::library::batches::{Batch, START};
use crate::service::library::stores::StoreFile;
use crate::service::library::{Library, new_id};
use crate::wire::others;
use crate::wire::page::Listed;
use crate::wire::refusal::Refusal;
use crate::wire::vector_stores::{AttachFile, FileBatch, FileCounts, MakeBatch, VectorStoreFile};

/// The files that a client names, in one of the two ways.
fn named(asked: MakeBatch) -> Result<(Vec<AttachFile>, &'static str), Refusal> {
    let refused = |message, param| Err(Refusal::invalid(param, message));
    let (files, param): (Vec<AttachFile>, _) = match (asked.file_ids, asked.files) {
        (Some(_), Some(_)) => {
            return refused("give `file_ids` or `files`, and not both", "files");
        }
        (None, Some(files)) => (files, "files"),
        (ids, None) => {
            let ids = ids.into_iter().flatten().map(|id| AttachFile {
                attributes: asked.attributes.clone(),
                ..AttachFile::plain(id)
            });
            (ids.collect(), "file_ids")
        }
    };
    match files.is_empty() {
        true => refused("a batch has at least one file", param),
        false => Ok((files, param)),
    }
}

/// Puts files into a corpus.
pub(crate) async fn make(
    call: Call<Corpus>,
    body: JsonBody<MakeBatch>,
) -> Result<Reply<FileBatch>, Refusal> {
    let asked = body.read().await?;
    others::refuse_of_store(&asked.others)?;
    let (files, param) = named(asked)?;
    let batch = call.blocking(move |call| {
        let (library, caller, Corpus(name)) = (call.served.library()?, call.caller(), &call.path);
        library.place(&call.served.corpora, name)?;
        let files = given(library, caller, files.into_iter(), param)?;
        let batch = Batch {
            id: new_id(START),
            created: unix_seconds(),
            files: files.iter().map(|file| file.record.id.clone()).collect(),
            cancelled: false,
        };
        library.stores.note_batch(name, &batch)?;
        library.attach_each(name, files, caller.key())?;
        described(library, name, &batch)
    });
    Ok(Reply::json(&batch.await?))
}

/// The files of a batch that are still in the corpus.
fn members(library: &Library, corpus: &str, batch: &Batch) -> Result<Vec<StoreFile>, Refusal> {
    let files = batch.files.iter();
    let files = files.filter_map(|file| library.stores.file(corpus, file).transpose());
    Ok(files.collect::<Result<_, _>>()?)
}

fn described(library: &Library, corpus: &str, batch: &Batch) -> Result<FileBatch, Refusal> {
    let counts = FileCounts::of(&members(library, corpus, batch)?);
    Ok(FileBatch {
        id: batch.id.clone(),
        object: "vector_store.files_batch",
        created_at: batch.created,
        vector_store_id: corpus.to_owned(),
        status: counts.of_batch(batch.cancelled),
        file_counts: counts,
    })
}

/// The batch in the path.
fn find(call: &Call<(Corpus, String)>) -> Result<(&Library, Batch), Refusal> {
    let (library, (Corpus(name), id)) = (call.served.library()?, &call.path);
    // Only a name of a corpus may be used as a path.
    library.place(&call.served.corpora, name)?;
    let batch = library.stores.batch(name, id)?.ok_or_else(|| {
        let message = format!("there is no batch {id:?} of {name:?}");
        Refusal::not_found("unknown_batch", message).of("batch_id")
    })?;
    Ok((library, batch))
}

/// One of them.
pub(crate) async fn one(call: Call<(Corpus, String)>) -> Result<Reply<FileBatch>, Refusal> {
    let batch = call.blocking(|call| {
        let (library, batch) = find(call)?;
        described(library, &call.path.0.0, &batch)
    });
    Ok(Reply::json(&batch.await?))
}

/// The files of a batch, newest first; `filter` in the query selects those of one status.
pub(crate) async fn list_files(
    call: Call<(Corpus, String)>,
) -> Result<Reply<Listed<VectorStoreFile>>, Refusal> {
    let page = call.page()?;
    let listed = call.blocking(move |call| {
        let (library, batch) = find(call)?;
        let name = &call.path.0.0;
        let members = members(library, name, &batch)?;
        paged(&page, call.query(), name, members)
    });
    Ok(Reply::json(&listed.await?))
}

/// Cancels a batch: files that are in the corpus stay there.
pub(crate) async fn cancel(call: Call<(Corpus, String)>) -> Result<Reply<FileBatch>, Refusal> {
    let batch = call.blocking(|call| {
        let (library, batch) = find(call)?;
        let name = &call.path.0.0;
        let is_over = described(library, name, &batch)?.status != "in_progress";
        let batch = Batch {
            cancelled: batch.cancelled || !is_over,
            ..batch
        };
        library.stores.note_batch(name, &batch)?;
        for file in &batch.files {
            library.cancel_attaching(name, file)?;
        }
        described(library, name, &batch)
    });
    Ok(Reply::json(&batch.await?))
}
