//! Documents that are cut and wait for their vectors. They are embedded batch by batch, whatever
//! document a passage belongs to, and leave whole.

use std::collections::VecDeque;

use ken_corpus::Document;
use ken_model::embedder::{Embedder, EmbedderError};
use ken_model::encoder::Role;

/// Passages embedded at a time.
pub(crate) const BATCH_PASSAGES: usize = 256;

/// The documents that wait, the first to leave in front.
pub(crate) struct Queue<'a> {
    embedder: &'a dyn Embedder,
    documents: VecDeque<Queued>,
    unembedded: usize,
}

/// A document with the texts of its passages.
pub(crate) struct Queued {
    pub(crate) document: Document,
    pub(crate) texts: Vec<String>,
    /// Whether the document takes the place of one of the same id.
    pub(crate) replaces: bool,
    /// `[embedded, dimensions]`, row-major.
    pub(crate) vectors: Vec<f32>,
    /// How many texts are embedded.
    embedded: usize,
    /// How many of them are longer than the embedder reads.
    pub(crate) longer: usize,
}

impl<'a> Queue<'a> {
    pub(crate) fn new(embedder: &'a dyn Embedder) -> Self {
        Self {
            embedder,
            documents: VecDeque::new(),
            unembedded: 0,
        }
    }

    pub(crate) fn push(&mut self, document: Document, texts: Vec<String>, replaces: bool) {
        self.unembedded += texts.len();
        self.documents.push_back(Queued {
            document,
            texts,
            replaces,
            vectors: Vec::new(),
            embedded: 0,
            longer: 0,
        });
    }

    /// Passages that have no vector yet.
    pub(crate) fn unembedded(&self) -> usize {
        self.unembedded
    }

    /// Passages that have one, but whose document still waits for others.
    pub(crate) fn embedded(&self) -> usize {
        self.documents.iter().map(|queued| queued.embedded).sum()
    }

    /// Embeds the next passages.
    pub(crate) fn embed_batch(&mut self) -> Result<(), EmbedderError> {
        let waiting = self.documents.iter().flat_map(|queued| {
            let texts = &queued.texts[queued.embedded..];
            texts.iter().map(|text| embedded_text(queued, text))
        });
        let texts: Vec<String> = waiting.take(BATCH_PASSAGES).collect();
        let borrowed: Vec<&str> = texts.iter().map(String::as_str).collect();
        let vectors = self.embedder.embed(&borrowed, Role::Passage)?;
        self.unembedded -= texts.len();
        let mut unfinished = self.documents.iter_mut().filter(|queued| !queued.is_done());
        let mut current = unfinished.next();
        for (text, vector) in texts.iter().zip(vectors) {
            if current.as_ref().is_some_and(|queued| queued.is_done()) {
                current = unfinished.next();
            }
            let Some(queued) = &mut current else { break };
            queued.vectors.extend(vector);
            queued.embedded += 1;
            queued.longer += usize::from(self.embedder.is_cut(text)?);
        }
        Ok(())
    }

    /// The document in front, once all its passages are embedded.
    pub(crate) fn pop_done(&mut self) -> Option<Queued> {
        self.documents.front().filter(|queued| queued.is_done())?;
        self.documents.pop_front()
    }
}

impl Queued {
    fn is_done(&self) -> bool {
        self.embedded == self.texts.len()
    }
}

/// What of a passage is embedded: the document's title and the passage's text.
fn embedded_text(queued: &Queued, text: &str) -> String {
    let title = &queued.document.title;
    if title.is_empty() {
        text.to_owned()
    } else {
        format!("{title}\n{text}")
    }
}
