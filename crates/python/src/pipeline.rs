//! The pipeline: answers questions, decides on them and judges answers.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use ken_answer::{Answer, AnswerError, Event, Pipeline as Answering, Policy, QuestionPrompt};
use ken_setup::Opened;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::call::{Caller, Stop, run};
use crate::corpus::{Corpus, json};
use crate::documents::given;
use crate::error::raised;
use crate::model::Model;
use crate::process::Kept;
use crate::progress::Progress;
use crate::settings::{opening, resolved};

/// A question and its choices.
type Asked = (String, Vec<String>);

/// Everything needed to answer questions.
#[pyclass(frozen, module = "ken._ken")]
pub(crate) struct Pipeline {
    pipeline: Kept<Answering>,
}

#[pymethods]
impl Pipeline {
    #[new]
    #[pyo3(signature = (settings, config=None, model=None, corpus=None, progress=None, stop=None))]
    #[allow(
        clippy::too_many_arguments,
        reason = "each is one of Python's keywords"
    )]
    fn new(
        py: Python<'_>,
        settings: &Bound<'_, PyDict>,
        config: Option<PathBuf>,
        model: Option<&Model>,
        corpus: Option<&Corpus>,
        progress: Option<Py<PyAny>>,
        stop: Option<&Stop>,
    ) -> PyResult<Self> {
        let settings = resolved(settings, config)?;
        let pipeline = run(py, stop, |caller| {
            let progress = Progress::new(caller, progress);
            let opened = Opened {
                model: model.map(Model::shared),
                retriever: corpus
                    .map(|corpus| corpus.retriever(caller, &progress))
                    .transpose()?,
            };
            let mut pipeline = opening(&settings, caller, &progress, |setup| {
                setup.pipeline_with(opened)
            })?;
            settings.answer_people(&mut pipeline)?;
            Ok(pipeline)
        })?;
        Ok(Self {
            pipeline: Kept::new(pipeline),
        })
    }

    /// The policy in use.
    #[getter]
    fn policy(&self) -> String {
        let policy = self.pipeline.settings.policy;
        self.pipeline.resolved(policy).to_string()
    }

    /// The answer to a question, as JSON.
    #[pyo3(signature = (question, choices, on_text=None, stop=None))]
    fn ask(
        &self,
        py: Python<'_>,
        question: String,
        choices: Vec<String>,
        on_text: Option<Py<PyAny>>,
        stop: Option<&Stop>,
    ) -> PyResult<String> {
        let on_text = on_text.map(Arc::new);
        run(py, stop, |caller| {
            let asked = QuestionPrompt::new(&question, &choices);
            let suited = self.pipeline.suited_to(asked).into_owned();
            let answer = suited.bound(&caller.token()).answer(asked, &mut |event| {
                watched(&event, on_text.as_ref(), caller)
            })?;
            caller.token().check()?;
            json(&answer)
        })
    }

    /// The answers to questions, each as JSON or as the exception that it failed with.
    #[pyo3(signature = (questions, progress=None, stop=None))]
    fn ask_many(
        &self,
        py: Python<'_>,
        questions: Vec<Asked>,
        progress: Option<Py<PyAny>>,
        stop: Option<&Stop>,
    ) -> PyResult<Vec<Py<PyAny>>> {
        let answers = run(py, stop, |caller| {
            let mut progress = Progress::new(caller, progress);
            let pipeline = (*self.pipeline).clone().bound(&caller.token());
            let (mut answers, total) = (Vec::new(), questions.len() as u64);
            for batch in questions.chunks(TOGETHER) {
                progress.tell("answering", answers.len() as u64, Some(total));
                let asked: Vec<QuestionPrompt<'_>> = batch.iter().map(prompt).collect();
                let mut watch = |_: usize, _: Event<'_>| caller.token().flow();
                answers.extend(pipeline.answer_many(&asked, &mut watch)?);
                caller.token().check()?;
            }
            progress.tell("answering", total, Some(total));
            Ok(answers)
        })?;
        let listed = answers.into_iter().map(|answer| shown(py, answer));
        listed.collect()
    }

    /// The decision on a question, as JSON: its route and its evidence.
    #[pyo3(signature = (question, stop=None))]
    fn decide(&self, py: Python<'_>, question: String, stop: Option<&Stop>) -> PyResult<String> {
        run(py, stop, |caller| {
            let suited = self
                .pipeline
                .suited_to(question.as_str().into())
                .into_owned();
            let pipeline = suited.bound(&caller.token());
            let mut watch = |_: Event<'_>| caller.token().flow();
            let decision = pipeline.decide(question.as_str(), &mut watch)?;
            caller.token().check()?;
            json(&decision.unwritten())
        })
    }

    /// What the model knows of a question, as JSON.
    #[pyo3(signature = (question, policy=None, stop=None))]
    fn knows(
        &self,
        py: Python<'_>,
        question: String,
        policy: Option<String>,
        stop: Option<&Stop>,
    ) -> PyResult<String> {
        let policy = given::<Policy>("policy", policy.as_ref())?;
        run(py, stop, |caller| {
            let pipeline = (*self.pipeline).clone().bound(&caller.token());
            let policy = policy.unwrap_or_else(|| pipeline.judging());
            let known = pipeline.knows(question.as_str(), policy)?;
            caller.token().check()?;
            json(&known)
        })
    }
}

/// How many questions are answered at once.
const TOGETHER: usize = 16;

fn prompt((question, choices): &Asked) -> QuestionPrompt<'_> {
    QuestionPrompt { question, choices }
}

/// Passes the text of an answer on as the model writes it.
fn watched(
    event: &Event<'_>,
    on_text: Option<&Arc<Py<PyAny>>>,
    caller: &Caller,
) -> ControlFlow<()> {
    if let (Event::Text(text), Some(callback)) = (event, on_text) {
        let (callback, text) = (Arc::clone(callback), (*text).to_owned());
        caller.tell(move |py| callback.call1(py, (text,)).map(drop));
    }
    caller.token().flow()
}

/// An answer as JSON, or its failure as an exception that is not raised.
fn shown(py: Python<'_>, answer: Result<Answer, AnswerError>) -> PyResult<Py<PyAny>> {
    Ok(match answer {
        Ok(answer) => json(&answer)?.into_pyobject(py)?.into_any().unbind(),
        Err(error) => raised(py, &error)?.into_value(py).into_any(),
    })
}
