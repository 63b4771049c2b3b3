//! Answers one question, on a thread of its own: tells its client what happens, and ends when the client is gone.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ken_answer::{
    Answer, AnswerError, AnswerSettings, Event, Exchange, Pipeline, Policy, Signal, Standalone,
    asks_for_list, is_small_talk,
};
use ken_policy::{Promise, Source};
use ken_probe::Lack;
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::cancel::Cancel;
use super::clock::unix_seconds;
use super::corpora::Opened;
use super::gate::Ticket;
use super::gateway;
use super::options::RequestOptions;
use super::policies;
use super::resources::Served;
use super::shadow::{self, ShadowCheck};
use super::traces::TraceEvent;
use super::traces::trace_record::TraceRecord;
use super::work::GRACE;
use crate::access::caller::{Caller, Reserved};
use crate::log::Entry;
use crate::spans::{self, Parent};
use crate::wire::ken::{Citation, Retrieved, Trace};
use crate::wire::refusal::Refusal;

/// The events of a question.
pub(crate) enum AnswerEvent {
    /// Passages were found; with the trace so far.
    Retrieved(Box<Trace>),
    /// The answer begins; with the trace so far.
    Begun(Box<Trace>),
    /// The answer goes on.
    Text(String),
    /// A reply of the model's own server: a completion, or a chunk of one.
    Reply(Box<Value>),
    /// The answer is complete.
    Done(Box<Completion>),
}

/// Events of work in progress. An error is the last: there is no answer, or no more of it.
pub(crate) type Events<E> = UnboundedReceiver<Result<E, Refusal>>;

/// A complete answer.
pub(crate) struct Completion {
    /// The text.
    pub(crate) text: String,
    /// Whether it was cut off.
    pub(crate) truncated: bool,
    /// The message to show if the model wrote no answer.
    pub(crate) refusal: Option<String>,
    /// The evidence as a part of a conversation, if only that was asked for.
    pub(crate) evidence: Option<String>,
    /// Tokens read and written by all calls.
    pub(crate) tokens: [usize; 2],
    /// How it came about.
    pub(crate) trace: Trace,
}

/// Who asks: for the log, the quotas, and what may be read.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) id: String,
    pub(crate) caller: Caller,
    /// The client's own span around it.
    pub(crate) parent: Parent,
}

/// Begins to answer. The answer ends when the receiver is dropped.
///
/// # Errors
/// What can be refused before any work: a corpus that is not served or not for the caller, values out of
/// range, a full queue.
pub(crate) fn start(
    served: &Arc<Served>,
    asked: RequestOptions,
    request: Request,
) -> Result<Events<AnswerEvent>, Refusal> {
    let settings = asked.settings(served)?;
    let corpora = asked.corpora(served, &request.caller)?;
    let shows_tokens = served.pipeline.model.text_model().is_some();
    if asked.brought.schema.is_some() && !shows_tokens {
        let message = "the model is behind an endpoint: ask for a format by chat completions, without a style of ken's";
        return Err(Refusal::bad("unsupported_parameter", message));
    }
    // The model's own server limits what it reads; for texts that are too long, nothing is measured.
    if asked.sent.is_none() {
        asked.check_length(served)?;
    }
    let ticket = served.answers.queue()?;
    let reserved = request.caller.reserve(asked.estimate(served))?;
    let started = Instant::now();
    let deadline = started + served.limits.deadline;
    let (tell, events) = unbounded_channel();
    let job = Job {
        served: Arc::clone(served),
        asked,
        settings,
        corpora,
        request,
        started,
        deadline,
        tell,
        told: AtomicUsize::default(),
    };
    tokio::spawn(job.answer(ticket, reserved));
    Ok(events)
}

/// Waits until a moment after the client is gone, or after the deadline: by then, work that checks for these has
/// ended.
async fn unwanted(tell: &UnboundedSender<Result<AnswerEvent, Refusal>>, deadline: Instant) {
    // The deadline ends the wait as well.
    let _ = tokio::time::timeout_at(deadline.into(), tell.closed()).await;
    tokio::time::sleep(GRACE).await;
}

/// The work that is left when a question is answered.
#[derive(Default)]
struct FollowUp {
    /// What the policy measured, if the guarantee covers the question.
    score: Option<f64>,
    /// The check that watches the guarantee, if the question is drawn.
    check: Option<ShadowCheck>,
}

/// A question with everything that answering it takes.
struct Job {
    served: Arc<Served>,
    asked: RequestOptions,
    settings: AnswerSettings,
    corpora: Vec<Arc<Opened>>,
    request: Request,
    started: Instant,
    deadline: Instant,
    tell: UnboundedSender<Result<AnswerEvent, Refusal>>,
    /// How many bytes of the answer the client was told.
    told: AtomicUsize,
}

impl Job {
    /// Waits for a place, and answers on a thread that may block.
    async fn answer(self, ticket: Ticket, reserved: Reserved) {
        let deadline = self.deadline;
        let place = tokio::select! {
            place = ticket.enter(deadline) => place,
            () = self.tell.closed() => return,
        };
        let place = match place {
            Ok(place) => place,
            Err(refusal) => return self.fail(refusal),
        };
        let heard = self.tell.clone();
        tokio::select! {
            // A panic drops the senders, which tells the client.
            _ = tokio::task::spawn_blocking(move || self.work(reserved)) => {}
            // Tells a client that is still there; the work logs how it ended, when it does.
            () = unwanted(&heard, deadline) => {
                let _ = heard.send(Err(Refusal::too_late()));
            }
        }
        // Given back when the work is done or unwanted, not when the client has read everything.
        drop(place);
    }

    fn work(self, reserved: Reserved) {
        let mut left = FollowUp::default();
        match self.run(&mut left) {
            Ok(completion) => {
                reserved.settle(completion.tokens.iter().sum());
                self.send(AnswerEvent::Done(Box::new(completion)));
            }
            Err(refusal) => {
                // So that it is not free to leave before the end of an answer.
                let told = self.told.load(Ordering::Relaxed);
                if told > 0 {
                    let read = self.asked.prompt_estimate(&self.served);
                    reserved.settle(read + gateway::estimated_tokens(told));
                }
                self.fail(refusal);
            }
        }
        // After the answer, so that no client waits for it.
        if let Some(score) = left.score {
            shadow::score(&self.served, score);
        }
        if let Some(check) = left.check {
            shadow::begin(&self.served, check);
        }
    }

    fn send(&self, event: AnswerEvent) {
        let bytes = match &event {
            AnswerEvent::Text(text) => text.len(),
            AnswerEvent::Reply(reply) => gateway::told(reply),
            AnswerEvent::Retrieved(_) | AnswerEvent::Begun(_) | AnswerEvent::Done(_) => 0,
        };
        // A client that has gone needs no events.
        if self.tell.send(Ok(event)).is_ok() {
            self.told.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// Reports a question that is not answered.
    fn fail(&self, refusal: Refusal) {
        self.served.metrics.failure(refusal.code());
        (self.served.log)(&Entry::Failure {
            request_id: self.request.id.clone(),
            code: refusal.code(),
            detail: refusal.detail.clone(),
        });
        self.span(spans::Outcome::Failed(refusal.code()));
        let _ = self.tell.send(Err(refusal));
    }

    /// Gives a question that is over to the collector, if there is one.
    fn span(&self, outcome: spans::Outcome<'_>) {
        if let Some(spans) = &self.served.spans {
            spans.take(&spans::QuestionSpan {
                request_id: &self.request.id,
                parent: &self.request.parent,
                model: &policies::requested(self.asked.policy),
                took: self.started.elapsed(),
                outcome,
            });
        }
    }

    fn run(&self, left: &mut FollowUp) -> Result<Completion, Refusal> {
        let Self { served, asked, .. } = self;
        let waited = self.started.elapsed();
        let cancel = {
            let tell = self.tell.clone();
            let halted = Arc::clone(&served.halted);
            Cancel::new(move || tell.is_closed(), self.deadline, halted)
        };
        let (pipeline, small_talk, before) = self.prepared()?;
        let unbound = pipeline.clone();
        let mut pipeline = pipeline.bound(&cancel.token());
        let stopped = |error: AnswerError| cancel.refusal(error);
        let standalone = pipeline
            .standalone(before, &asked.question)
            .map_err(stopped)?;
        asked.bring(&standalone.question, &mut pipeline);
        let settings = &pipeline.settings;
        let trace = self.begun(settings, &standalone, small_talk, waited);
        let mut progress = Progress {
            job: self,
            trace,
            begun: false,
        };
        let mut watch = |event: Event<'_>| {
            progress.take(&event);
            cancel.flow()
        };
        let answered = self.answered(&pipeline, &standalone.question, &mut watch);
        let (answer, evidence) = answered.map_err(stopped)?;
        cancel.check()?;
        let rewritten = [standalone.tokens.prompt, standalone.tokens.completion];
        let mut answered = finished(progress.trace, answer, rewritten);
        answered.evidence = evidence;
        if !small_talk {
            (left.score, left.check) = self.watched(unbound, &mut answered);
        }
        self.count(settings.policy, settings.k, &answered);
        let beside = if settings.policy.signal() == Some(Signal::SELF_ROUTE) {
            pipeline.extra_corpora.keys().cloned().collect()
        } else {
            Vec::new()
        };
        // Before the answer is out, so that feedback finds the trace, even after a kill.
        let event = TraceEvent::Answered(Box::new(self.record(&answered, beside)));
        served.note(event, false);
        if !asked.traced {
            answered.trace.retrieved = None;
        }
        Ok(answered)
    }

    /// The pipeline for the question, whether it is small talk, and the earlier exchanges if they matter.
    fn prepared(&self) -> Result<(Pipeline, bool, &[Exchange]), Refusal> {
        let Self { served, asked, .. } = self;
        let (settings, caller) = (self.settings.clone(), &self.request.caller);
        let mut pipeline = asked.pipeline(settings, served, &self.corpora, caller)?;
        let small_talk = is_small_talk(&asked.question);
        if small_talk {
            pipeline.settings = pipeline.settings.for_small_talk();
        }
        let is_sent = asked.sent.is_some();
        if is_sent && asked.check_length(served).is_err() {
            pipeline.settings.policy = Policy::NEVER;
        }
        // A question that is not searched for need not be rewritten for a search.
        let stands = small_talk
            || asks_for_list(&asked.question)
            || is_sent && pipeline.settings.policy == Policy::NEVER;
        let before = if stands { &[][..] } else { &asked.before };
        Ok((pipeline, small_talk, before))
    }

    /// The trace before anything is measured.
    fn begun(
        &self,
        settings: &AnswerSettings,
        standalone: &Standalone,
        small_talk: bool,
        waited: Duration,
    ) -> Trace {
        let times = [("wait", waited), ("rewrite", standalone.time)].into_iter();
        let times = times.filter(|(_, time)| !time.is_zero());
        let mut corpora = self.corpora.iter().map(|corpus| corpus.state());
        Trace {
            request_id: self.request.id.clone(),
            question: standalone.question.clone(),
            small_talk,
            not_used: self.not_used(),
            policy: settings.policy.to_string(),
            threshold: settings.policy.threshold(),
            corpus: corpora.next(),
            other_corpora: corpora.collect(),
            timing_ms: times
                .map(|(stage, time)| (stage.to_owned(), milliseconds(time)))
                .collect(),
            ..Trace::default()
        }
    }

    /// Parameters that are not obeyed: those of the request that ken ignores, and those that the model's own server
    /// refuses.
    fn not_used(&self) -> Vec<String> {
        let own = self.asked.not_used.iter().cloned();
        let refused = self.served.pipeline.model.not_taken().into_iter();
        own.chain(refused.map(|parameter| format!("{parameter} (refused by the model server)")))
            .collect()
    }

    /// Answers, or only decides if the request asks for no more, and then returns the evidence, too.
    fn answered(
        &self,
        pipeline: &Pipeline,
        question: &str,
        watch: &mut dyn FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<(Answer, Option<String>), AnswerError> {
        if self.asked.only_decides {
            let decision = pipeline.decide(question, watch)?;
            let evidence = decision.message(&pipeline.brought.evidence);
            return Ok((decision.unwritten(), Some(evidence)));
        }
        let mut begun = false;
        let answer = match &self.asked.sent {
            None => pipeline.answer(question, watch),
            Some(sent) => gateway::answer(pipeline, question, sent, watch, &mut |reply| {
                if !std::mem::replace(&mut begun, true) {
                    self.served.metrics.began(self.started.elapsed());
                }
                self.send(AnswerEvent::Reply(Box::new(reply)));
                ken_language::break_if(self.tell.is_closed())
            }),
        };
        Ok((answer?, None))
    }

    /// The record of the answer.
    fn record(&self, answered: &Completion, beside: Vec<String>) -> TraceRecord {
        let record = TraceRecord {
            at: unix_seconds(),
            key: self.request.caller.key().map(str::to_owned),
            beside,
            answer: (!self.asked.only_decides).then(|| answered.text.clone()),
            truncated: answered.truncated,
            tokens: answered.tokens,
            ms: milliseconds(self.started.elapsed()),
            trace: answered.trace.clone(),
            watched: None,
            judge: None,
            feedback: None,
        };
        match self.served.traces.keeps_texts {
            true => record.without_passages(),
            false => record.without_texts(),
        }
    }

    /// Reports the guarantee if there is one for the question, and draws the question; also returns what the policy
    /// measured. This covers questions that are answered as the settings say: with their policy, withheld by their
    /// signal, over their first corpus, searched in their way. A withheld answer is no error, so where few errors are
    /// promised, its question is not drawn.
    fn watched(
        &self,
        pipeline: Pipeline,
        answered: &mut Completion,
    ) -> (Option<f64>, Option<ShadowCheck>) {
        let (Some(watch), Some(corpus)) = (&self.served.watch, self.corpora.first()) else {
            return (None, None);
        };
        let trace = &mut answered.trace;
        // A question of which it cannot tell counts among the scores, as in calibration.
        let searches_by = pipeline.settings.policy.searches_by();
        let untold = (trace.cannot_tell && searches_by.is_some()).then_some(f64::NAN);
        let score = trace.score.or(untold);
        let wanted = self.asked.policy.unwrap_or(watch.policy);
        let is_as_set = self.asked.passages.is_empty()
            && self.asked.search.is_as_set(&self.served)
            && pipeline.settings.abstain == self.served.pipeline.settings.abstain;
        if wanted != watch.policy || !is_as_set {
            return (None, None);
        }
        let corpus = corpus.retriever.back_end().fingerprint();
        trace.guarantee = Some(shadow::stated(watch, watch.standing(Some(&corpus))));
        if pipeline.settings.policy != watch.policy {
            let policy = watch.policy;
            trace.reason += &format!("; in the place of {policy}, whose guarantee has lapsed");
            return (None, None);
        }
        if trace.withheld.is_some() && matches!(watch.guarantee.promise, Promise::Error { .. }) {
            return (score, None);
        }
        // There is no answer to check.
        if self.asked.only_decides {
            return (score, None);
        }
        let look = watch.draw(&trace.request_id, self.request.caller.key());
        let look = look.map(|drawn| {
            trace.drawn = Some(drawn.propensity);
            ShadowCheck {
                request_id: trace.request_id.clone(),
                question: trace.question.clone(),
                has_evidence: trace.route == Source::Corpus.to_string(),
                drawn,
                answer: answered.text.clone(),
                pipeline,
            }
        });
        (score, look)
    }

    fn count(&self, policy: Policy, k: usize, answered: &Completion) {
        let Completion { trace, tokens, .. } = answered;
        let took = self.started.elapsed();
        let kind = policies::kind(policy);
        let metrics = &self.served.metrics;
        metrics.answer(kind, &trace.route, *tokens, took, &trace.timing_ms);
        if trace.withheld.is_some() {
            metrics.withheld(kind);
        }
        if trace.cannot_tell {
            metrics.cannot_tell(kind);
        }
        (self.served.log)(&Entry::Answer {
            request_id: self.request.id.clone(),
            policy: trace.policy.clone(),
            source: trace.route.clone(),
            withheld: trace.withheld.is_some(),
            cannot_tell: trace.cannot_tell,
            prompt_tokens: tokens[0],
            completion_tokens: tokens[1],
            ms: milliseconds(took),
        });
        let outcome = spans::Outcome::Answered {
            text: &answered.text,
            truncated: answered.truncated,
            tokens: *tokens,
            k,
            trace,
        };
        self.span(outcome);
    }
}

/// The progress of a question, for its client.
struct Progress<'a> {
    job: &'a Job,
    /// What is known so far.
    trace: Trace,
    /// Whether the answer has begun.
    begun: bool,
}

impl Progress<'_> {
    fn take(&mut self, event: &Event<'_>) {
        match event {
            Event::Routed(choice) => {
                self.trace.route = choice.source.to_string();
                self.trace.reason.clone_from(&choice.reason);
            }
            Event::Retrieved(passages) => {
                self.trace.searches += 1;
                if self.job.asked.traced {
                    self.trace.retrieved = Some(passages.iter().map(retrieved).collect());
                }
                self.job
                    .send(AnswerEvent::Retrieved(Box::new(self.trace.clone())));
            }
            Event::Text(text) if !text.is_empty() => {
                if !self.begun {
                    self.begun = true;
                    let took = self.job.started.elapsed();
                    self.job.served.metrics.began(took);
                    self.job
                        .send(AnswerEvent::Begun(Box::new(self.trace.clone())));
                }
                self.job.send(AnswerEvent::Text((*text).to_owned()));
            }
            _ => {}
        }
    }
}

/// Completes the trace by the answer. `rewritten` are the tokens spent on rewriting, read and written.
fn finished(mut trace: Trace, answer: Answer, rewritten: [usize; 2]) -> Completion {
    trace.route = answer.route.to_string();
    trace.reason = answer.reason;
    trace.score = answer.score;
    trace.cannot_tell = answer.cannot_tell;
    trace.lack = answer.lack.as_ref().map(|lack| lack.name().to_owned());
    trace.withheld = answer.withheld;
    trace.citations = answer.citations.into_iter().map(cited).collect();
    trace.unfounded = answer.unfounded.into_iter().map(Into::into).collect();
    trace.named_documents = answer.named_documents;
    trace.retrieved = Some(answer.retrieved.iter().map(retrieved).collect());
    trace.verbalized = answer.verbalized.map(|known| known.text);
    trace.model_calls = answer.calls.model + usize::from(rewritten[1] > 0);
    trace.searches = answer.calls.retriever;
    trace.timing_ms.extend(answer.timing_ms);
    Completion {
        refusal: refusal(answer.lack.as_ref(), &answer.answer),
        evidence: None,
        text: answer.answer,
        truncated: answer.truncated,
        tokens: [
            answer.tokens.prompt + rewritten[0],
            answer.tokens.completion + rewritten[1],
        ],
        trace,
    }
}

/// The message for a question that the model did not answer. An answer that was cut off, or ended because it repeated
/// itself, has a finish reason for that.
fn refusal(lack: Option<&Lack>, answer: &str) -> Option<String> {
    let lack = lack.filter(|lack| match lack {
        Lack::Refused(_) => true,
        Lack::CutOff | Lack::Repeats => false,
        Lack::Filtered | Lack::ToolCall | Lack::Empty => answer.trim().is_empty(),
    });
    lack.map(|lack| lack.words().to_owned())
}

fn cited(citation: ken_answer::Citation) -> Citation {
    Citation {
        number: citation.number,
        passage_id: citation.passage_id,
        doc_id: citation.doc_id,
        title: citation.title,
        location: citation.location.into(),
        text: citation.text,
        corpus: citation.corpus,
        places: citation.places.into_iter().map(Into::into).collect(),
    }
}

fn retrieved(passage: &ken_answer::Retrieved) -> Retrieved {
    Retrieved {
        passage_id: passage.passage_id.clone(),
        doc_id: passage.doc_id.clone(),
        title: passage.title.clone(),
        location: passage.location.clone().into(),
        text: passage.text.clone(),
        chunk: passage.chunk.clone().map(Into::into),
        score: passage.score,
        corpus: passage.corpus.clone(),
        in_prompt: Some(passage.in_prompt),
        metadata: serde_json::Map::new(),
    }
}

/// A time in milliseconds, to the microsecond.
pub(crate) fn milliseconds(time: Duration) -> f64 {
    time.as_micros() as f64 / 1000.0
}
