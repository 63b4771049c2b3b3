//! Answering one question, on a thread of its own: its client is told what happens, and the work ends when
//! nobody listens any more.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ken_answer::{Answer, AnswerError, Event, Pipeline, Policy, Signal, is_small_talk};
use ken_probe::Lack;
use ken_route::{Promise, Source};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::asked::Asked;
use super::cancel::Cancel;
use super::clock::unix_seconds;
use super::corpora::Opened;
use super::looking::{self, Look};
use super::policies;
use super::readable;
use super::served::Served;
use super::traces::Happened;
use super::traces::past::Past;
use super::work::GRACE;
use crate::access::caller::Caller;
use crate::log::Entry;
use crate::spans::{self, Parent};
use crate::wire::ken::{Citation, Retrieved, Trace};
use crate::wire::refusal::Refusal;

/// What happens to a question.
pub(crate) enum News {
    /// Passages were found; the trace holds what is known by then.
    Retrieved(Box<Trace>),
    /// The answer begins; the trace holds what is known by then.
    Begun(Box<Trace>),
    /// It goes on.
    Text(String),
    /// It is complete.
    Done(Box<Answered>),
    /// There is none, or no more of it.
    Failed(Refusal),
}

/// A complete answer.
pub(crate) struct Answered {
    /// The text.
    pub(crate) text: String,
    /// Whether it was cut off.
    pub(crate) truncated: bool,
    /// What is said where the model wrote no answer.
    pub(crate) refusal: Option<String>,
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
    /// The client's own span that it belongs to.
    pub(crate) parent: Parent,
}

/// Begins to answer. The answer ends when the receiver is dropped.
///
/// # Errors
/// What can be refused before any work: a corpus that is not served or not for the caller, values out of
/// range, a full queue.
pub(crate) fn start(
    served: &Arc<Served>,
    asked: Asked,
    request: Request,
) -> Result<UnboundedReceiver<News>, Refusal> {
    let corpus = asked.corpus(served, &request.caller)?;
    asked.settings(served)?;
    let said = asked.before.iter().map(|before| before.question.as_str());
    for text in said.chain([asked.question.as_str()]) {
        readable::check(text, Some(served.pipeline.model.context_tokens()))?;
    }
    let ticket = served.answers.queue()?;
    let reserved = request
        .caller
        .reserve(served.prompt_estimate(&asked.question))?;
    let started = Instant::now();
    let deadline = started + served.limits.deadline;
    let (tell, news) = unbounded_channel();
    let served = Arc::clone(served);
    tokio::spawn(async move {
        let place = tokio::select! {
            place = ticket.enter(deadline) => place,
            () = tell.closed() => return,
        };
        let place = match place {
            Ok(place) => place,
            Err(refusal) => {
                report(&served, &asked, &request, &refusal, started);
                let _ = tell.send(News::Failed(refusal));
                return;
            }
        };
        let heard = tell.clone();
        let work = move || {
            let job = Job {
                served: &served,
                asked: &asked,
                corpus: corpus.as_deref(),
                request: &request,
                started,
                tell: &tell,
            };
            let mut left = Left::default();
            // Whoever does not listen any more needs no news.
            let _ = tell.send(match job.run(deadline, &mut left) {
                Ok(answered) => {
                    reserved.settle(answered.tokens.iter().sum());
                    News::Done(Box::new(answered))
                }
                Err(refusal) => {
                    report(&served, &asked, &request, &refusal, started);
                    News::Failed(refusal)
                }
            });
            // Behind the answer, so that nobody waits for it.
            if let Some(score) = left.score {
                looking::score(&served, score);
            }
            if let Some(look) = left.look {
                looking::begin(&served, look);
            }
        };
        tokio::select! {
            // A panic drops the senders, which the client is told of.
            _ = tokio::task::spawn_blocking(work) => {}
            // Whoever is still there is told; the work says in the log how it ended, when it does.
            () = unwanted(&heard, deadline) => {
                let _ = heard.send(News::Failed(Refusal::too_late()));
            }
        }
        // Given back when the work is done or unwanted, and not when the client has read all of it.
        drop(place);
    });
    Ok(news)
}

/// Waits until a moment after nobody listens any more, or after the deadline: by then, work that looks at these
/// has ended.
async fn unwanted(tell: &UnboundedSender<News>, deadline: Instant) {
    // At the deadline it is over as well.
    let _ = tokio::time::timeout_at(deadline.into(), tell.closed()).await;
    tokio::time::sleep(GRACE).await;
}

/// Tells of a question that came when it did and is not answered.
fn report(served: &Served, asked: &Asked, request: &Request, refusal: &Refusal, started: Instant) {
    served.metrics.failure(refusal.code());
    (served.log)(&Entry::Failure {
        request_id: request.id.clone(),
        code: refusal.code(),
        detail: refusal.detail.clone(),
    });
    let outcome = spans::Outcome::Failed(refusal.code());
    span(served, asked, request, started, outcome);
}

/// Gives a question that is over to a collector, where there is one.
fn span(
    served: &Served,
    asked: &Asked,
    request: &Request,
    started: Instant,
    outcome: spans::Outcome<'_>,
) {
    if let Some(spans) = &served.spans {
        spans.take(&spans::Asked {
            request_id: &request.id,
            parent: &request.parent,
            model: &policies::requested(asked.policy),
            took: started.elapsed(),
            outcome,
        });
    }
}

/// What is left to do when a question is answered.
#[derive(Default)]
struct Left {
    /// What the policy measured, where the guarantee is for the question.
    score: Option<f64>,
    /// What is to be looked at to watch the guarantee, where the question is drawn.
    look: Option<Look>,
}

struct Job<'a> {
    served: &'a Arc<Served>,
    asked: &'a Asked,
    corpus: Option<&'a Opened>,
    request: &'a Request,
    started: Instant,
    tell: &'a UnboundedSender<News>,
}

impl Job<'_> {
    /// Answers.
    fn run(&self, deadline: Instant, left: &mut Left) -> Result<Answered, Refusal> {
        let Self { served, asked, .. } = self;
        let waited = self.started.elapsed();
        let cancel = {
            let tell = self.tell.clone();
            let halted = Arc::clone(&served.halted);
            Cancel::new(move || tell.is_closed(), deadline, halted)
        };
        let mut pipeline = asked.pipeline(served, self.corpus, &self.request.caller)?;
        let small_talk = is_small_talk(&asked.question);
        if small_talk {
            pipeline.settings.policy = Policy::Never;
            pipeline.settings.abstain = None;
        }
        let unbound = pipeline.clone();
        let pipeline = pipeline.bound(&cancel.token());
        let stopped = |error: AnswerError| cancel.refusal(error);
        let before = if small_talk {
            &[]
        } else {
            asked.before.as_slice()
        };
        let standalone = pipeline
            .standalone(before, &asked.question)
            .map_err(stopped)?;
        let mut trace = Trace {
            request_id: self.request.id.clone(),
            question: standalone.question.clone(),
            small_talk,
            policy: pipeline.settings.policy.to_string(),
            route: String::new(),
            reason: String::new(),
            score: None,
            threshold: pipeline.settings.policy.threshold(),
            cannot_tell: false,
            lack: None,
            withheld: None,
            guarantee: None,
            drawn: None,
            corpus: self.corpus.map(Opened::state),
            citations: Vec::new(),
            unfounded: Vec::new(),
            retrieved: None,
            verbalized: None,
            model_calls: 0,
            searches: 0,
            timing_ms: [("wait", waited), ("rewrite", standalone.time)]
                .into_iter()
                .filter(|(_, time)| !time.is_zero())
                .map(|(stage, time)| (stage.to_owned(), milliseconds(time)))
                .collect(),
        };
        let (policy, k) = (pipeline.settings.policy, pipeline.settings.k);
        let beside = match policy.signal() {
            Some(signal) if signal == Signal::SELF_ROUTE => {
                pipeline.extra_corpora.keys().cloned().collect()
            }
            _ => Vec::new(),
        };
        let mut begun = false;
        let mut watch = |event: Event<'_>| -> ControlFlow<()> {
            match event {
                Event::Routed(choice) => {
                    trace.route = choice.source.to_string();
                    trace.reason.clone_from(&choice.reason);
                }
                Event::Retrieved(found) => {
                    trace.searches += 1;
                    if asked.traced {
                        trace.retrieved = Some(found.iter().map(retrieved).collect());
                    }
                    let _ = self.tell.send(News::Retrieved(Box::new(trace.clone())));
                }
                Event::Text(text) if !text.is_empty() => {
                    if !begun {
                        begun = true;
                        served.metrics.began(self.started.elapsed());
                        let _ = self.tell.send(News::Begun(Box::new(trace.clone())));
                    }
                    let _ = self.tell.send(News::Text(text.to_owned()));
                }
                _ => {}
            }
            cancel.flow()
        };
        let answer = pipeline.answer(standalone.question.as_str(), &mut watch);
        let answer = answer.map_err(stopped)?;
        if let Some(reason) = cancel.reason() {
            return Err(reason);
        }
        let rewritten = [standalone.tokens.prompt, standalone.tokens.completion];
        let mut answered = finished(trace, answer, rewritten);
        if !small_talk {
            (left.score, left.look) = self.watched(unbound, &mut answered);
        }
        self.count(policy, k, &answered);
        // Before the answer is out, so that whoever has it can say something of it, and after a kill as well.
        served.note(
            Happened::Answered(Box::new(self.past(&answered, beside))),
            false,
        );
        if !asked.traced {
            answered.trace.retrieved = None;
        }
        Ok(answered)
    }

    /// What is kept of it.
    fn past(&self, answered: &Answered, beside: Vec<String>) -> Past {
        let past = Past {
            at: unix_seconds(),
            key: self.request.caller.key().map(str::to_owned),
            beside,
            answer: Some(answered.text.clone()),
            truncated: answered.truncated,
            tokens: answered.tokens,
            ms: milliseconds(self.started.elapsed()),
            trace: answered.trace.clone(),
            watched: None,
            judge: None,
            feedback: None,
        };
        match self.served.traces.keeps_texts {
            true => past.without_passages(),
            false => past.without_texts(),
        }
    }

    /// Tells of the guarantee where there is one for the question, and draws it; returns what the policy measured
    /// as well. That is for questions that are answered as the settings say: with their policy, withheld by what
    /// they say, over their first corpus, as it is searched by them. An answer that is withheld is no error, so
    /// where few of these are promised it is not drawn.
    fn watched(&self, pipeline: Pipeline, answered: &mut Answered) -> (Option<f64>, Option<Look>) {
        let (Some(watch), Some(corpus)) = (&self.served.watch, self.corpus) else {
            return (None, None);
        };
        let trace = &mut answered.trace;
        // Where it cannot tell, that counts among the scores as when it was calibrated.
        let searches_by = pipeline.settings.policy.searches_by();
        let untold = (trace.cannot_tell && searches_by.is_some()).then_some(f64::NAN);
        let score = trace.score.or(untold);
        let wanted = self.asked.policy.unwrap_or(watch.policy);
        let is_as_set = self.asked.is_searched_as_set(self.served)
            && pipeline.settings.abstain == self.served.pipeline.settings.abstain;
        if wanted != watch.policy || !is_as_set {
            return (None, None);
        }
        let corpus = corpus.retriever.back_end().fingerprint();
        trace.guarantee = Some(looking::stated(watch, watch.standing(Some(&corpus))));
        if pipeline.settings.policy != watch.policy {
            let policy = watch.policy;
            trace.reason += &format!("; in the place of {policy}, whose guarantee has lapsed");
            return (None, None);
        }
        if trace.withheld.is_some() && matches!(watch.guarantee.promise, Promise::Error { .. }) {
            return (score, None);
        }
        let look = watch.draw(&trace.request_id, self.request.caller.key());
        let look = look.map(|drawn| {
            trace.drawn = Some(drawn.propensity);
            Look {
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

    fn count(&self, policy: Policy, k: usize, answered: &Answered) {
        let Answered { trace, tokens, .. } = answered;
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
        span(self.served, self.asked, self.request, self.started, outcome);
    }
}

/// The trace with what the answer says. `rewritten` are the tokens spent before, read and written.
fn finished(mut trace: Trace, answer: Answer, rewritten: [usize; 2]) -> Answered {
    trace.route = answer.route.to_string();
    trace.reason = answer.reason;
    trace.score = answer.score;
    trace.cannot_tell = answer.cannot_tell;
    trace.lack = answer.lack.as_ref().map(|lack| lack.name().to_owned());
    trace.withheld = answer.withheld;
    trace.citations = answer.citations.into_iter().map(cited).collect();
    trace.unfounded = answer.unfounded.into_iter().map(Into::into).collect();
    trace.retrieved = Some(answer.retrieved.iter().map(retrieved).collect());
    trace.verbalized = answer.verbalized.map(|known| known.text);
    trace.model_calls = answer.calls.model + usize::from(rewritten[1] > 0);
    trace.searches = answer.calls.retriever;
    trace.timing_ms.extend(answer.timing_ms);
    Answered {
        refusal: refusal(answer.lack.as_ref(), &answer.answer),
        text: answer.answer,
        truncated: answer.truncated,
        tokens: [
            answer.tokens.prompt + rewritten[0],
            answer.tokens.completion + rewritten[1],
        ],
        trace,
    }
}

/// What is said of an answer that the model did not write; one that was cut off says so by how it ended.
fn refusal(lack: Option<&Lack>, answer: &str) -> Option<String> {
    let lack = lack.filter(|lack| match lack {
        Lack::Refused(_) => true,
        Lack::CutOff => false,
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
        text: citation.text,
        places: citation.places.into_iter().map(Into::into).collect(),
    }
}

fn retrieved(found: &ken_answer::Retrieved) -> Retrieved {
    Retrieved {
        passage_id: found.passage_id.clone(),
        doc_id: found.doc_id.clone(),
        title: found.title.clone(),
        text: found.text.clone(),
        chunk: found.chunk.clone().map(Into::into),
        score: found.score,
        in_prompt: Some(found.in_prompt),
        metadata: serde_json::Map::new(),
    }
}

/// A time in milliseconds.
pub(crate) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
