//! How the last questions were answered, and the feedback on the answers: in memory, within limits, and, if the
//! server has a folder, in a journal from which a later server goes on. Texts that were asked, answered and found are
//! kept only if the settings say so.

mod journal;
pub(crate) mod trace_record;

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use ken_storage::StorageError;

pub(crate) use self::journal::TraceEvent;
use self::journal::{Journal, JournalContent};
use self::trace_record::TraceRecord;
use super::record::RecordError;
use crate::access::caller::Caller;
use crate::lock::lock;
use crate::wire::refusal::Refusal;

/// The most traces.
const MOST: usize = 10_000;

/// The most bytes of all traces, as JSON.
const MOST_BYTES: usize = 64 << 20;

/// The last questions.
pub(crate) struct Traces {
    /// Whether texts that were asked, answered and found are kept.
    pub(crate) keeps_texts: bool,
    last: Mutex<Last>,
    journal: Option<Mutex<Journal>>,
}

/// The refusal of a trace that does not exist or is not for the caller.
pub(crate) fn unknown(id: &str) -> Refusal {
    let message = format!("there is no trace {id:?}, or it is forgotten");
    Refusal::not_found("unknown_trace", message)
}

/// The id of the request of an answer, which clients of OpenAI's APIs know by the answer's own.
pub(crate) fn request_id(answer: &str) -> String {
    let mut starts = ["chatcmpl-", "resp_"].into_iter();
    let number = starts.find_map(|start| answer.strip_prefix(start));
    number.map_or_else(|| answer.to_owned(), |number| format!("req_{number}"))
}

/// The last traces within the limits, oldest first.
#[derive(Default)]
struct Last {
    all: VecDeque<Kept>,
    /// How many were forgotten before the first.
    forgotten: u64,
    /// How many traces came before, by request id.
    numbers: HashMap<String, u64>,
    /// The bytes of all traces.
    bytes: usize,
}

struct Kept {
    past: Arc<TraceRecord>,
    bytes: usize,
}

impl Kept {
    fn of(past: TraceRecord) -> Self {
        // Cannot fail: traces have no maps with keys other than strings, and no part fails.
        let bytes = serde_json::to_vec(&past).map_or(0, |text| text.len());
        Self {
            past: Arc::new(past),
            bytes,
        }
    }
}

impl Last {
    /// Adds a trace; a second one of the same request replaces the first.
    fn add(&mut self, past: TraceRecord) {
        let kept = Kept::of(past);
        match self.place(kept.past.id()) {
            Some(place) => self.put(place, kept),
            None => {
                let number = self.forgotten + self.all.len() as u64;
                self.numbers.insert(kept.past.id().to_owned(), number);
                self.bytes += kept.bytes;
                self.all.push_back(kept);
            }
        }
        self.trim();
    }

    fn put(&mut self, place: usize, kept: Kept) {
        self.bytes = self.bytes - self.all[place].bytes + kept.bytes;
        self.all[place] = kept;
    }

    fn trim(&mut self) {
        while self.all.len() > MOST || (self.bytes > MOST_BYTES && self.all.len() > 1) {
            let Some(oldest) = self.all.pop_front() else {
                return;
            };
            self.forgotten += 1;
            self.bytes -= oldest.bytes;
            self.numbers.remove(oldest.past.id());
        }
    }

    fn place(&self, id: &str) -> Option<usize> {
        let number = *self.numbers.get(id)?;
        usize::try_from(number.checked_sub(self.forgotten)?).ok()
    }

    fn change(&mut self, id: &str, change: impl FnOnce(&mut TraceRecord)) {
        if let Some(place) = self.place(id) {
            let mut past = TraceRecord::clone(&self.all[place].past);
            change(&mut past);
            self.put(place, Kept::of(past));
            self.trim();
        }
    }

    fn take(&mut self, happened: TraceEvent) {
        match happened {
            TraceEvent::Answered(past) => self.add(*past),
            TraceEvent::Watched { id, outcome } => {
                self.change(&id, |past| past.watched = Some(outcome));
            }
            TraceEvent::Decided { id, judge } => {
                self.change(&id, |past| past.judge = Some(judge));
            }
            TraceEvent::Judged { id, feedback } => {
                self.change(&id, |past| past.add_feedback(feedback));
            }
        }
    }
}

impl Traces {
    /// Traces in memory only.
    pub(crate) fn in_memory(keeps_texts: bool) -> Self {
        Self {
            keeps_texts,
            last: Mutex::default(),
            journal: None,
        }
    }

    /// Goes on from the traces in a folder. Removes texts there if none are to be kept. Also returns how many lines
    /// could not be read.
    ///
    /// # Errors
    /// A folder that cannot be read or written.
    pub(crate) fn open(folder: PathBuf, keeps_texts: bool) -> Result<(Self, usize), RecordError> {
        let (mut journal, content) = Journal::open(folder)?;
        let JournalContent {
            happened,
            unreadable,
        } = content;
        // Checks everything on disk: an interrupted removal leaves texts that later lines hide.
        let has_texts = happened.iter().any(TraceEvent::has_texts);
        // Feedback may stand before its answer, since another thread writes it.
        let (answers, more): (Vec<_>, Vec<_>) = happened
            .into_iter()
            .partition(|event| matches!(event, TraceEvent::Answered(_)));
        let mut last = Last::default();
        answers
            .into_iter()
            .chain(more)
            .for_each(|event| last.take(event));
        if !keeps_texts && has_texts {
            let before = std::mem::take(&mut last);
            for kept in before.all {
                last.add(TraceRecord::clone(&kept.past).without_texts());
            }
            let all = last.all.iter().map(|kept| {
                let past = TraceRecord::clone(&kept.past);
                TraceEvent::Answered(Box::new(past))
            });
            journal.replace(&all.collect::<Vec<_>>())?;
        }
        let traces = Self {
            keeps_texts,
            last: Mutex::new(last),
            journal: Some(Mutex::new(journal)),
        };
        Ok((traces, unreadable))
    }

    /// Takes what happened into memory; [`Traces::write`] puts it on disk.
    pub(crate) fn take(&self, happened: TraceEvent) {
        lock(&self.last).take(happened);
    }

    /// Writes what happened to the journal, if there is one; `synced`, so that it survives a power loss from then on.
    ///
    /// # Errors
    /// A full disk.
    pub(crate) fn write(&self, happened: &TraceEvent, synced: bool) -> Result<(), StorageError> {
        let Some(journal) = &self.journal else {
            return Ok(());
        };
        let mut journal = lock(journal);
        journal.add(happened)?;
        if synced { journal.sync() } else { Ok(()) }
    }

    /// A trace by its id.
    pub(crate) fn find(&self, id: &str) -> Option<Arc<TraceRecord>> {
        let last = lock(&self.last);
        let place = last.place(id)?;
        Some(Arc::clone(&last.all[place].past))
    }

    /// Checks that texts of questions are kept.
    ///
    /// # Errors
    /// A server that keeps no texts.
    pub(crate) fn require_texts(&self) -> Result<(), Refusal> {
        if self.keeps_texts {
            return Ok(());
        }
        let message = "this server keeps no questions: its settings do not say so";
        Err(Refusal::forbidden("not_kept", message))
    }

    /// The trace of a request, or of an answer, if the caller may see it.
    ///
    /// # Errors
    /// A trace that is forgotten or not for the caller.
    pub(crate) fn find_for(&self, id: &str, caller: &Caller) -> Result<Arc<TraceRecord>, Refusal> {
        let past = self.find(&request_id(id));
        let past = past.filter(|past| past.is_for(caller));
        past.ok_or_else(|| unknown(id))
    }

    /// All traces, newest first.
    pub(crate) fn all(&self) -> Vec<Arc<TraceRecord>> {
        let last = lock(&self.last);
        let newest_first = last.all.iter().rev();
        newest_first.map(|kept| Arc::clone(&kept.past)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::trace_record::{Feedback, Rating};
    use super::*;
    use crate::service::watch::comparison::Verdict;
    use crate::wire::ken::Trace;

    fn past(id: &str, question: &str) -> TraceEvent {
        let text = serde_json::json!({
            "request_id": id, "question": question, "small_talk": false, "policy": "certainty@0.4",
            "route": "self", "reason": "r", "score": 0.25, "threshold": 0.4, "corpus": null,
            "citations": [], "unfounded": [], "model_calls": 1, "searches": 0,
            "timing_ms": {"total": 2.5},
        });
        let trace: Trace = serde_json::from_value(text).unwrap();
        TraceEvent::Answered(Box::new(TraceRecord {
            at: 7,
            key: None,
            beside: Vec::new(),
            answer: Some(format!("answer to {question}")),
            truncated: false,
            tokens: [3, 1],
            ms: 2.5,
            trace,
            watched: None,
            judge: None,
            feedback: None,
        }))
    }

    fn judged(id: &str, rating: Option<Rating>, answers: &[&str]) -> TraceEvent {
        TraceEvent::Judged {
            id: id.to_owned(),
            feedback: Feedback {
                rating,
                answers: answers.iter().map(|answer| (*answer).to_owned()).collect(),
                source: None,
                at: 9,
            },
        }
    }

    fn both(traces: &Traces, happened: TraceEvent) {
        traces.write(&happened, false).unwrap();
        traces.take(happened);
    }

    /// All of them as JSON.
    fn shown(traces: &Traces) -> Vec<serde_json::Value> {
        let all = traces.all().into_iter();
        all.map(|past| serde_json::to_value(&*past).unwrap())
            .collect()
    }

    #[test]
    fn a_later_server_goes_on_with_all_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let open = |texts| Traces::open(folder.path().join("traces"), texts).unwrap().0;
        let traces = open(true);
        both(&traces, past("req_1", "one"));
        // As it may stand on disk.
        traces
            .write(&judged("req_2", Some(Rating::Bad), &[]), true)
            .unwrap();
        both(&traces, past("req_2", "two"));
        traces.take(judged("req_2", Some(Rating::Bad), &[]));
        both(&traces, judged("req_2", None, &["2"]));
        let outcome = "differs".to_owned();
        let id = "req_1".to_owned();
        both(&traces, TraceEvent::Watched { id, outcome });
        let judge = Verdict::Both {
            without: false,
            with: true,
        };
        let id = "req_1".to_owned();
        both(&traces, TraceEvent::Decided { id, judge });
        let before = shown(&traces);
        assert_eq!(before[0]["feedback"]["rating"], "bad");
        assert_eq!(before[0]["feedback"]["answers"][0], "2");
        assert_eq!(before[1]["watched"], "differs");
        assert_eq!(before[1]["judge"]["with"], true);
        drop(traces);
        assert_eq!(shown(&open(true)), before);
        // A server that keeps no texts removes those on disk, also after an interrupted removal.
        let names = || ken_storage::names(&folder.path().join("traces")).unwrap();
        let whole = folder.path().join("traces").join(&names()[0]);
        let text = std::fs::read(&whole).unwrap();
        drop(open(false));
        assert!(!whole.exists());
        std::fs::write(&whole, text).unwrap();
        let bare = open(false);
        assert_eq!(bare.all().len(), 2);
        assert_eq!(
            bare.find("req_2")
                .unwrap()
                .feedback
                .as_ref()
                .unwrap()
                .rating,
            Some(Rating::Bad)
        );
        drop(bare);
        for name in names() {
            let text = std::fs::read_to_string(folder.path().join("traces").join(name)).unwrap();
            assert!(text.contains("req_2") && !text.contains("two"), "{text}");
            assert!(!text.contains("\"2\"") && !text.contains("answer to"));
        }
    }

    #[test]
    fn the_oldest_are_forgotten_by_number_and_by_size() {
        let traces = Traces::in_memory(true);
        for number in 0..=MOST {
            traces.take(past(&number.to_string(), "q"));
        }
        assert!(traces.find("0").is_none() && traces.find("1").is_some());
        let large = "x".repeat(MOST_BYTES / 5);
        for number in 0..6 {
            // The answer holds the question as well.
            traces.take(past(&format!("large{number}"), &large));
        }
        let ids: Vec<String> = traces
            .all()
            .iter()
            .map(|past| past.id().to_owned())
            .collect();
        assert_eq!(ids, ["large5", "large4"]);
        // A trace that is too large by itself is there until the next.
        traces.take(past("huge", &"x".repeat(MOST_BYTES)));
        assert_eq!(traces.all().len(), 1);
        traces.take(past("small", "q"));
        assert!(traces.find("huge").is_none() && traces.find("small").is_some());
    }
}
