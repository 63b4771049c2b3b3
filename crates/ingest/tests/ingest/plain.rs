//! A sequential ingest, whose result the stages must reproduce.

use std::path::{Path, PathBuf};

use ken_corpus::{
    DocumentState, EmbedderIdentity, Locator, Piece, Segmentation, Settings, Sharding, Writer,
    segment, titled,
};
use ken_documents::read_documents;
use ken_index::{DenseLayout, SegmentWriter};
use ken_testing::{HASHED_DIMENSIONS as DIMENSIONS, hashed as vector};

/// Ingests the files with `words:SIZE`, and publishes after every 4096 passages.
pub(crate) fn ingest(paths: &[PathBuf], corpus: &Path, words: usize) {
    let settings = Settings {
        embedder: EmbedderIdentity::new("hashing", "hashing", DIMENSIONS),
        segmentation: format!("words:{words}"),
        sharding: Sharding::default(),
        dense: "auto".into(),
    };
    let cut = Segmentation::Words {
        size: words,
        overlap: 0,
    };
    let mut writer = Writer::create(corpus, settings).unwrap();
    let known = writer.known();
    let mut stage = writer.stage(0).unwrap();
    let (mut passages, mut vectors) = (Vec::new(), Vec::new());
    let mut documents = read_documents(paths).unwrap().peekable();
    while let Some(document) = documents.next() {
        let document = document.unwrap();
        let state = known.state_of(&document).unwrap();
        if !matches!(state, DocumentState::Unchanged(_)) {
            let locator = Locator::new(&document.title, &document.text, &document.outline);
            let mut pieces = Vec::new();
            for text in segment(&document.text, cut, &|_| Vec::new()) {
                let start = text.as_ptr() as usize - document.text.as_ptr() as usize;
                let location = locator.locate(start..start + text.len());
                vectors.extend(vector(&titled(&location.titled(&document.title), text)));
                let text = text.to_owned();
                pieces.push(Piece { text, location });
            }
            passages.extend(stage.push(&document, &pieces).unwrap());
        }
        let full = passages.len() >= 4096;
        if full || (documents.peek().is_none() && stage.document_count() > 0) {
            let mut index =
                SegmentWriter::create(stage.dir(), DIMENSIONS, DenseLayout::default()).unwrap();
            for (passage, vector) in passages.iter().zip(vectors.chunks(DIMENSIONS)) {
                index.push(passage, vector).unwrap();
            }
            index.finish().unwrap();
            writer.publish(vec![stage]).unwrap();
            stage = writer.stage(0).unwrap();
            passages.clear();
            vectors.clear();
        }
    }
}
