//! An ingest that does one thing after the other: what the stages must come to.

use std::path::{Path, PathBuf};

use ken_corpus::{
    DocumentState, EmbedderIdentity, Segmentation, Settings, Sharding, Writer, segment,
};
use ken_documents::read_documents;
use ken_index::{DenseLayout, SegmentWriter};
use ken_testing::{HASHED_DIMENSIONS as DIMENSIONS, hashed as vector};

/// Takes in the files, words:SIZE a passage, and publishes after every 4096 passages.
pub(crate) fn ingest(paths: &[PathBuf], corpus: &Path, words: usize) {
    let settings = Settings {
        embedder: EmbedderIdentity {
            reference: "hashing".to_owned(),
            fingerprint: "hashing".to_owned(),
            dimensions: DIMENSIONS,
        },
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
            let texts = segment(&document.text, cut, &|_| Vec::new());
            let texts: Vec<String> = texts.into_iter().map(str::to_owned).collect();
            for text in &texts {
                vectors.extend(match document.title.is_empty() {
                    true => vector(text),
                    false => vector(&format!("{}\n{text}", document.title)),
                });
            }
            passages.extend(stage.push(&document, &texts).unwrap());
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
