//! How a server takes documents in: as `ken ingest` does.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ken_corpus::{Cut, Settings as CorpusSettings};
use ken_documents::{Budget, ReadError, ReadOptions, read_documents_with};
use ken_ingest::{Ingest, ingest};
use ken_server::{Destination, Intake, ReadFiles, Taken, ToolError};
use ken_setup::Settings;
use serde_json::{Map, Value};

/// Reads documents by the settings.
pub(crate) struct Documents {
    /// How documents of new corpora are cut.
    cut: Cut,
    budget: Budget,
}

impl Documents {
    pub(crate) fn by(settings: &Settings) -> Self {
        let document_bytes = settings.max_document_bytes.0;
        Self {
            cut: settings.segment,
            budget: Budget { document_bytes },
        }
    }

    /// The documents of a folder, or of a file, none of them read yet.
    fn read(
        &self,
        path: &Path,
        metadata: Map<String, Value>,
        stop: &Arc<AtomicBool>,
    ) -> Result<ken_documents::Documents, ToolError> {
        let options = ReadOptions {
            metadata,
            budget: self.budget,
            stop: Arc::clone(stop),
            copies: true,
            ..ReadOptions::default()
        };
        let paths: [PathBuf; 1] = [path.to_owned()];
        read_documents_with(&paths, options).map_err(|error| ToolError::of(&error))
    }
}

impl Intake for Documents {
    fn recognize(&self, path: &Path) -> Result<(), ToolError> {
        self.read(path, Map::new(), &Arc::default()).map(drop)
    }

    fn documents(&self, folder: &Path, stop: &Arc<AtomicBool>) -> Result<ReadFiles, ToolError> {
        let mut broken = ReadFiles::new();
        loop {
            let mut documents = self.read(folder, Map::new(), stop)?;
            documents.retain_files(|path| !broken.contains_key(path));
            let paths = documents.files().map(Path::to_owned);
            let mut files: ReadFiles = paths.map(|path| (path, Ok(Vec::new()))).collect();
            let (already, mut repeats) = (broken.len(), false);
            while let Some(document) = documents.next() {
                let path = documents.current_file().unwrap_or(folder);
                match (document, files.get_mut(path)) {
                    (Err(error @ ReadError::Stopped), _) => return Err(ToolError::of(&error)),
                    (Ok(document), Some(Ok(ids))) => ids.push(document.id),
                    (Err(error), Some(file)) if file.is_ok() => {
                        *file = Err(ToolError::of(&error));
                        match error {
                            ReadError::DuplicateId { .. } => repeats = true,
                            _ => drop(broken.insert(path.to_owned(), file.clone())),
                        }
                    }
                    // More of a file that cannot be read.
                    _ => {}
                }
            }
            // A file may well repeat the documents of one that is left out.
            if !repeats || broken.len() == already {
                files.extend(broken);
                return Ok(files);
            }
        }
    }

    fn take(
        &self,
        folder: &Path,
        left_out: &[PathBuf],
        into: Destination<'_>,
        progress: &mut dyn FnMut(Taken),
        stop: &Arc<AtomicBool>,
    ) -> Result<Taken, ToolError> {
        let known = CorpusSettings::of(into.corpus).map_err(|error| ToolError::of(&error))?;
        let own = known.and_then(|known| known.segmentation.parse().ok());
        let mut documents = self.read(folder, into.metadata.clone(), stop)?;
        documents.retain_files(|path| !left_out.iter().any(|left_out| left_out == path));
        let work = Ingest {
            cut: own.unwrap_or(self.cut),
            embedder_reference: into.reference,
            ..Ingest::new(documents, into.corpus, into.embedder)
        };
        let mut taken = Taken::default();
        let mut watch = |step: ken_ingest::Progress| {
            taken = Taken {
                bytes_read: step.read.bytes_read,
                bytes_total: step.read.bytes_total.unwrap_or(step.read.bytes_read),
                documents: step.documents,
                passages: step.passages,
                ..Taken::default()
            };
            progress(taken);
        };
        let report = ingest(work, &mut watch, stop).map_err(|error| ToolError::of(&error))?;
        Ok(Taken {
            added: report.added,
            replaced: report.replaced,
            unchanged: report.unchanged,
            ..taken
        })
    }
}
