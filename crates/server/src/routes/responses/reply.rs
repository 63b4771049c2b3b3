//! A response with its answer: whole, and as the events of a stream.

use std::sync::Arc;

use axum::body::Bytes;
use serde::Serialize;

use crate::routes::address::Addresses;
use crate::routes::citations::cited;
use crate::routes::events;
use crate::routes::stream::Wording;
use crate::service::answers::{AnswerEvent, Completion};
use crate::service::resources::Served;
use crate::service::responses::KeptResponse;
use crate::service::work::blocking;
use crate::wire::ken::Trace;
use crate::wire::refusal::Refusal;
use crate::wire::responses::{
    FileCitation, FileSearchResult, Happening, IncompleteDetails, OutputItem, OutputPart,
    OutputText, ResponseObject, ResponseUsage, TextHappening,
};

/// A response, and the state of its stream.
pub(super) struct Reply {
    pub(super) served: Arc<Served>,
    pub(super) response: ResponseObject,
    /// The id of the search.
    pub(super) search: String,
    /// The id of the answer.
    pub(super) message: String,
    pub(super) addresses: Addresses,
    /// Whether the client offered the search as a tool, or asked for its results, and so is told of it.
    pub(super) offered: bool,
    /// Whether the response holds the search results.
    pub(super) results: bool,
    /// Events so far.
    pub(super) count: usize,
    pub(super) created: bool,
    /// Whether the answer has begun.
    pub(super) begun: bool,
    /// The response to store, if any.
    pub(super) keeping: Option<KeptResponse>,
}

/// An event as it is sent: named, numbered.
#[derive(Serialize)]
struct Numbered<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    sequence_number: usize,
    #[serde(flatten)]
    happening: Happening<'a>,
}

impl Reply {
    /// The response with its answer, once it is stored.
    pub(super) async fn completed(mut self, answered: Completion) -> ResponseObject {
        if self.offered && answered.trace.searches > 0 && self.response.output.is_empty() {
            let search = self.searched(&answered.trace);
            self.response.output.push(search);
        }
        let text = self.text(&answered);
        self.complete(text, answered);
        self.keep().await;
        self.response
    }

    /// Stores it, if the client wants that and it is complete.
    async fn keep(&mut self) {
        let Some(mut kept) = self.keeping.take() else {
            return;
        };
        if !matches!(self.response.status, "completed" | "incomplete") {
            return;
        }
        let served = Arc::clone(&self.served);
        let response = serde_json::to_value(&self.response);
        let work = move || {
            if let (Some(responses), Ok(response)) = (&served.responses, response) {
                kept.response = response;
                served.kept("responses", responses.keep(&kept));
            }
            Ok(())
        };
        // The log reports what cannot be written; the answer is there all the same.
        let _ = blocking(work).await;
    }

    fn complete(&mut self, text: OutputText, answered: Completion) {
        let [input_tokens, output_tokens] = answered.tokens;
        let reason = match answered.trace.lack.as_deref() {
            _ if answered.truncated => Some("max_output_tokens"),
            Some("filtered") => Some("content_filter"),
            _ => None,
        };
        let status = match reason {
            Some(_) => "incomplete",
            None => "completed",
        };
        let refusal = answered.refusal.map(OutputPart::refusal);
        self.response.output.push(OutputItem::Message {
            id: self.message.clone(),
            status,
            role: "assistant",
            content: std::iter::once(OutputPart::Text(text))
                .chain(refusal)
                .collect(),
        });
        self.response.status = status;
        self.response.incomplete_details = reason.map(|reason| IncompleteDetails { reason });
        self.response.usage = Some(ResponseUsage {
            input_tokens,
            input_tokens_details: Default::default(),
            output_tokens,
            output_tokens_details: Default::default(),
            total_tokens: input_tokens + output_tokens,
        });
        self.response.ken = Some(answered.trace);
    }

    fn searched(&self, trace: &Trace) -> OutputItem {
        let retrieved = trace.retrieved.as_ref().filter(|_| self.results);
        OutputItem::FileSearchCall {
            id: self.search.clone(),
            status: "completed",
            queries: vec![trace.question.clone()],
            results: retrieved.map(|retrieved| {
                let results = retrieved.iter().map(|hit| {
                    let corpus = trace.corpus_of(hit.corpus.as_ref());
                    let (file_id, filename) = self.served.file_of(corpus, &hit.doc_id, &hit.title);
                    FileSearchResult {
                        file_id,
                        filename,
                        score: hit.score,
                        text: hit.text.clone(),
                        attributes: hit.metadata.clone(),
                    }
                });
                results.collect()
            }),
        }
    }

    fn text(&self, answered: &Completion) -> OutputText {
        let citations = cited(answered).into_iter().map(|cited| {
            let (corpus, citation) = (cited.corpus, cited.citation);
            let (file_id, filename) =
                (self.served).file_of(corpus, &citation.doc_id, &citation.title);
            FileCitation {
                kind: "file_citation",
                file_id,
                filename,
                index: cited.place.end,
                start_index: cited.place.start,
                end_index: cited.place.end,
                url: (self.addresses).passage(corpus, &citation.passage_id, &citation.location),
            }
        });
        OutputText::new(answered.text.clone(), citations.collect())
    }

    /// The index of the answer among the items.
    fn place(&self) -> usize {
        self.response.output.len()
    }

    fn event(&mut self, kind: &str, happening: Happening<'_>) -> Bytes {
        let numbered = Numbered {
            kind,
            sequence_number: self.count,
            happening,
        };
        self.count += 1;
        events::named(kind, &numbered)
    }

    fn of_response(&mut self, kind: &str) -> Bytes {
        let response = self.response.clone();
        let happening = Happening::Response {
            response: &response,
        };
        self.event(kind, happening)
    }

    fn of_text(&mut self, kind: &str, what: TextHappening<'_>) -> Bytes {
        self.of_part(0, kind, what)
    }

    /// An event of the part of the answer at this index.
    fn of_part(&mut self, content_index: usize, kind: &str, what: TextHappening<'_>) -> Bytes {
        let (message, output_index) = (self.message.clone(), self.place());
        let happening = Happening::Text {
            output_index,
            item_id: &message,
            content_index,
            what,
        };
        self.event(kind, happening)
    }

    /// The events of the message of a model that wrote no answer: the part behind the text.
    fn refuse(&mut self, refusal: &str) -> Vec<Bytes> {
        let begun = OutputPart::refusal(String::new());
        let whole = OutputPart::refusal(refusal.to_owned());
        let (begun, whole) = (
            TextHappening::Part { part: &begun },
            TextHappening::Part { part: &whole },
        );
        let delta = TextHappening::RefusalDelta { delta: refusal };
        let done = TextHappening::RefusalDone { refusal };
        let events = [
            ("response.content_part.added", begun),
            ("response.refusal.delta", delta),
            ("response.refusal.done", done),
            ("response.content_part.done", whole),
        ];
        events
            .map(|(kind, what)| self.of_part(1, kind, what))
            .into()
    }

    fn of_item(&mut self, kind: &str, item: &OutputItem) -> Bytes {
        let output_index = self.place();
        self.event(kind, Happening::Item { output_index, item })
    }

    fn create(&mut self) -> Vec<Bytes> {
        if std::mem::replace(&mut self.created, true) {
            return Vec::new();
        }
        let kinds = ["response.created", "response.in_progress"];
        kinds.map(|kind| self.of_response(kind)).into()
    }

    /// The events of the search, which is over before any of them is sent.
    fn search(&mut self, trace: &Trace) -> Vec<Bytes> {
        if !self.offered || !self.response.output.is_empty() {
            return Vec::new();
        }
        let begun = OutputItem::FileSearchCall {
            id: self.search.clone(),
            status: "in_progress",
            queries: Vec::new(),
            results: None,
        };
        let mut sent = vec![self.of_item("response.output_item.added", &begun)];
        let id = self.search.clone();
        for state in ["in_progress", "searching", "completed"] {
            let happening = Happening::Search {
                output_index: 0,
                item_id: &id,
            };
            sent.push(self.event(&format!("response.file_search_call.{state}"), happening));
        }
        let item = self.searched(trace);
        sent.push(self.of_item("response.output_item.done", &item));
        self.response.output.push(item);
        sent
    }

    fn begin(&mut self) -> Vec<Bytes> {
        if std::mem::replace(&mut self.begun, true) {
            return Vec::new();
        }
        let item = OutputItem::Message {
            id: self.message.clone(),
            status: "in_progress",
            role: "assistant",
            content: Vec::new(),
        };
        let part = OutputPart::Text(OutputText::new(String::new(), Vec::new()));
        let part = TextHappening::Part { part: &part };
        vec![
            self.of_item("response.output_item.added", &item),
            self.of_text("response.content_part.added", part),
        ]
    }

    fn end(&mut self, answered: Completion) -> Vec<Bytes> {
        let part = self.text(&answered);
        let mut sent = Vec::new();
        for (annotation_index, annotation) in part.annotations.iter().enumerate() {
            let what = TextHappening::Annotation {
                annotation_index,
                annotation,
            };
            sent.push(self.of_text("response.output_text.annotation.added", what));
        }
        let done = TextHappening::Done {
            text: &part.text,
            logprobs: [],
        };
        sent.push(self.of_text("response.output_text.done", done));
        let whole = OutputPart::Text(part.clone());
        let whole = TextHappening::Part { part: &whole };
        sent.push(self.of_text("response.content_part.done", whole));
        if let Some(refusal) = &answered.refusal {
            sent.extend(self.refuse(refusal));
        }
        let output_index = self.place();
        self.complete(part, answered);
        if let Some(item) = self.response.output.last().cloned() {
            let happening = Happening::Item {
                output_index,
                item: &item,
            };
            sent.push(self.event("response.output_item.done", happening));
        }
        let kind = format!("response.{}", self.response.status);
        sent.push(self.of_response(&kind));
        sent
    }
}

impl Wording for Reply {
    type News = AnswerEvent;

    fn settle(&mut self) -> impl Future<Output = ()> + Send {
        self.keep()
    }

    /// Clients that only read the response, and those that only look for errors, both get them.
    fn fail(&mut self, refusal: &Refusal) -> Vec<Bytes> {
        let mut sent = self.create();
        let error = refusal.object();
        self.response.status = "failed";
        self.response.error = Some(error.clone());
        sent.push(self.of_response("response.failed"));
        let happening = Happening::Error {
            code: error.code,
            message: &error.message,
            param: error.param.as_deref(),
        };
        sent.push(self.event("error", happening));
        sent
    }

    fn word(&mut self, news: AnswerEvent) -> Vec<Bytes> {
        let mut sent = self.create();
        match news {
            AnswerEvent::Retrieved(trace) => sent.extend(self.search(&trace)),
            AnswerEvent::Begun(_) => sent.extend(self.begin()),
            AnswerEvent::Text(text) => {
                sent.extend(self.begin());
                let what = TextHappening::Delta {
                    delta: &text,
                    logprobs: [],
                };
                sent.push(self.of_text("response.output_text.delta", what));
            }
            AnswerEvent::Done(answered) => {
                sent.extend(self.begin());
                sent.extend(self.end(*answered));
            }
            // Only chat completions are passed on.
            AnswerEvent::Reply(_) => {}
        }
        sent
    }
}
