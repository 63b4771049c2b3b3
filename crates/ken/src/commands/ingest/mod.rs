//! `ken ingest`: puts documents into a corpus, once or whenever they change.

mod follow;
mod report;

use std::path::PathBuf;
use std::sync::Arc;

use ken_corpus::Active;
use ken_documents::{Budget, Converters, Documents, ReadError, ReadOptions, read_documents_with};
use ken_hub::{DEFAULT_EMBEDDER, ModelCache};
use ken_ingest::{Ingest, IngestError, ingest, preview};
use ken_language::Embedder;
use ken_milvus::MilvusAddress;
use ken_setup::CorpusAddress;

use self::report::{LeftOut, show, show_preview, tell_of_skipped, warn};
use crate::arguments::corpus::IngestArguments;
use crate::commands::languages;
use crate::failure::{Failure, Result};
use crate::progress::begun;
use crate::session::Session;
use crate::terminal::remark;

pub(crate) fn run(arguments: &IngestArguments, session: &Session<'_>) -> Result<()> {
    if let CorpusAddress::Milvus(address) = session.settings.corpus()? {
        return Err(goes_by_folder(address));
    }
    let corpus = session.settings.folder()?;
    if arguments.watch && arguments.paths.iter().any(|path| path.as_os_str() == "-") {
        let message = "stdin cannot be watched";
        let hint = "name files and folders, or leave out --watch";
        return Err(Failure::refused("watch_stdin", message, hint));
    }
    // A wrong path fails before a model is fetched.
    let documents = read(arguments, session)?;
    tell_of_skipped(documents.skipped());
    let on_broken: Option<&(dyn Fn(&ReadError) + Sync)> = match arguments.skip_broken {
        true => Some(&warn),
        false => None,
    };
    if arguments.dry_run {
        let preview = preview(
            documents,
            corpus,
            synced(arguments),
            on_broken,
            session.stop,
        );
        let preview = preview.map_err(|error| or_skipped(error, arguments))?;
        return show_preview(&preview, session.json);
    }
    let embedder = session.opening(|setup| setup.embedder(&session.settings.embedder))?;
    let reference = session.setup().embedder_name()?;
    let destination = Destination {
        arguments,
        session,
        embedder: embedder.as_ref(),
        reference: &reference,
    };
    match arguments.watch {
        true => follow::follow(&destination, documents, on_broken),
        false => destination.take(documents, on_broken),
    }
}

/// The refusal of a collection, with the way that leads into it.
fn goes_by_folder(address: &MilvusAddress) -> Failure {
    let folder = format!("{}.ken", address.collection());
    Failure::refused(
        "corpus_in_milvus",
        format!(
            "documents go to {address} by a folder: a push compares all of it with the collection, to send what changed, to delete what is gone, and to resume"
        ),
        format!(
            "`ken ingest PATH… --corpus {folder}`, then `ken corpus push --corpus {folder} --to {address}`, and so after every change"
        ),
    )
}

/// The documents of the given paths, none of them read yet.
fn read(arguments: &IngestArguments, session: &Session<'_>) -> Result<Documents> {
    let options = ReadOptions {
        format: arguments.format,
        follow_links: arguments.follow_links,
        exclude: arguments.exclude.clone(),
        budget: Budget {
            document_bytes: session.settings.max_document_bytes.0,
        },
        stop: Arc::clone(session.stop),
        encoding: arguments.encoding,
        fields: arguments.field.iter().cloned().collect(),
        html: arguments.html,
        base_url: arguments.base_url.clone(),
        converters: Converters {
            converters: arguments.convert.clone(),
            kept: ModelCache::of_user()
                .ok()
                .map(|cache| cache.home().join("converted")),
        },
        ..ReadOptions::default()
    };
    Ok(read_documents_with(&arguments.paths, options)?)
}

/// A document among many that cannot be read need not stop the others.
fn or_skipped(error: IngestError, arguments: &IngestArguments) -> Failure {
    let is_read =
        matches!(&error, IngestError::Read(cause) if !matches!(cause, ReadError::Stopped));
    let is_one_of_many = is_read && arguments.paths.iter().any(|path| path.is_dir());
    match is_one_of_many && !arguments.skip_broken {
        true => Failure::from(error).or("--skip-broken leaves out what cannot be read"),
        false => error.into(),
    }
}

/// The paths whose missing documents are deleted.
fn synced(arguments: &IngestArguments) -> &[PathBuf] {
    match arguments.sync || arguments.watch {
        true => &arguments.paths,
        false => &[],
    }
}

/// An embedder for a hundred languages, as fast as the default one.
const MULTILINGUAL: &str = "hf:intfloat/multilingual-e5-small";

/// Where documents go, and how.
struct Destination<'a> {
    arguments: &'a IngestArguments,
    session: &'a Session<'a>,
    embedder: &'a dyn Embedder,
    reference: &'a str,
}

impl Destination<'_> {
    /// Ingests documents and shows the outcome.
    fn take(
        &self,
        documents: Documents,
        on_broken: Option<&(dyn Fn(&ReadError) + Sync)>,
    ) -> Result<()> {
        let Self {
            arguments, session, ..
        } = self;
        let left_out = LeftOut {
            skipped: documents.skipped().len(),
            excluded: documents.excluded(),
            unread: documents.unread(),
            notices: documents.notices(),
        };
        let work = Ingest {
            documents,
            corpus: session.settings.folder()?,
            cut: session.settings.segment,
            embedder: self.embedder,
            embedder_reference: self.reference,
            sharding: arguments.sharding(),
            dense: arguments.dense,
            only_shard: arguments.only_shard,
            sync: synced(arguments),
            on_broken,
        };
        let report = {
            let mut display = begun("reading");
            ingest(work, &mut |step| display.show_ingest(&step), session.stop)
                .map_err(|error| or_skipped(error, arguments))?
        };
        show(&report, &left_out, session)?;
        let is_default = self.reference == DEFAULT_EMBEDDER;
        let tells = !arguments.watch && !session.json && !session.quiet;
        if report.passages > 0 && is_default && tells {
            self.tell_of_languages()?;
        }
        if report.interrupted {
            let message = format!(
                "stopped after {} new and {} replaced documents, which are published",
                report.added, report.replaced
            );
            return Err(Failure::resumable(message));
        }
        Ok(())
    }

    /// Recommends another embedder if the corpus is mostly in another language than English.
    fn tell_of_languages(&self) -> Result<()> {
        let languages = languages::of_corpus(self.session.settings.folder()?, Active::All)?;
        if let Some(language) = languages::other_than_english(&languages) {
            remark(format_args!(
                "the corpus is mostly {language}, and the default embedder was made for English; a new corpus with \
                 --embedder {MULTILINGUAL} finds more"
            ));
        }
        Ok(())
    }
}
