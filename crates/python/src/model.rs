//! Models: a language model that writes and scores text, and an embedder.

use std::ops::ControlFlow;
use std::sync::Arc;

use ken_hub::ModelReference;
use ken_language::{
    CancelToken, Embedder as EmbedderModel, Examples, GenerateOptions, GenerateRequest,
    LanguageModel, Progress as Reading, Prompt, Reply, Role, Sampling, bound_embedder, bound_model,
};
use ken_model::decoder::{Decoder, Message, Role as Speaker, ScoreRequest};
use ken_setup::SetupError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde_json::{Value, json};

use crate::call::{Stop, run};
use crate::error::{BindingError, Failure};
use crate::process::Kept;
use crate::progress::Progress;
use crate::settings::{opening, resolved};

/// An open language model.
enum Opened {
    /// On this machine; continues raw text.
    Here(Box<Decoder>),
    /// Behind an endpoint; answers questions.
    Behind {
        model: Arc<dyn LanguageModel>,
        url: String,
    },
}

/// A language model.
#[pyclass(frozen, module = "ken._ken")]
pub(crate) struct Model {
    opened: Kept<Opened>,
}

impl Model {
    /// The model, for sharing.
    pub(crate) fn shared(&self) -> Arc<dyn LanguageModel> {
        match &*self.opened {
            Opened::Here(decoder) => Arc::new(Decoder::clone(decoder)),
            Opened::Behind { model, .. } => Arc::clone(model),
        }
    }

    /// The decoder, for work that only a model on this machine can do.
    fn decoder(&self) -> Result<&Decoder, SetupError> {
        match &*self.opened {
            Opened::Here(decoder) => Ok(decoder),
            Opened::Behind { url, .. } => Err(SetupError::ModelElsewhere { url: url.clone() }),
        }
    }
}

/// What to continue: raw text, or a conversation.
#[derive(FromPyObject)]
enum Given {
    Text(String),
    Conversation(Vec<(String, String)>),
}

#[pymethods]
impl Model {
    #[new]
    #[pyo3(signature = (settings, config=None, progress=None, stop=None))]
    fn new(
        py: Python<'_>,
        settings: &Bound<'_, PyDict>,
        config: Option<std::path::PathBuf>,
        progress: Option<Py<PyAny>>,
        stop: Option<&Stop>,
    ) -> PyResult<Self> {
        let settings = resolved(settings, config)?;
        let opened = run(py, stop, |caller| {
            let progress = Progress::new(caller, progress);
            opening(&settings, caller, &progress, |setup| {
                Ok(match &settings.model {
                    ModelReference::Remote { url } => Opened::Behind {
                        model: setup.language_model()?,
                        url: url.clone(),
                    },
                    _ => Opened::Here(Box::new(setup.decoder()?)),
                })
            })
        })?;
        Ok(Self {
            opened: Kept::new(opened),
        })
    }

    #[getter]
    fn fingerprint(&self) -> String {
        self.shared().fingerprint().to_owned()
    }

    #[getter]
    fn context_tokens(&self) -> usize {
        self.shared().context_tokens()
    }

    /// The token before a text that is scored from its beginning; `None` for a model behind an endpoint.
    #[getter]
    fn begin_of_text(&self) -> Option<String> {
        let model = self.shared();
        let info = model.text_model()?.tokenizer_info();
        info.begin.or(info.end)
    }

    /// How many tokens a text has.
    fn count_tokens(&self, py: Python<'_>, text: String) -> PyResult<usize> {
        run(py, None, |_| Ok(self.shared().count_tokens(&text)?))
    }

    /// Continuations of prompts, as JSON: `[prompts][samples]`.
    #[pyo3(signature = (prompts, max_tokens, temperature, top_k, top_p, seed, stop_strings, samples, on_text=None, stop=None))]
    #[allow(
        clippy::too_many_arguments,
        reason = "each is one of Python's keywords"
    )]
    fn generate(
        &self,
        py: Python<'_>,
        prompts: Vec<Given>,
        max_tokens: usize,
        temperature: f64,
        top_k: Option<usize>,
        top_p: Option<f32>,
        seed: u64,
        stop_strings: Vec<String>,
        samples: usize,
        on_text: Option<Py<PyAny>>,
        stop: Option<&Stop>,
    ) -> PyResult<String> {
        let options = GenerateOptions {
            stop: stop_strings,
            ..GenerateOptions::new(sampling(temperature, top_k, top_p, seed)?, max_tokens)
        };
        let on_text = on_text.map(Arc::new);
        run(py, stop, |caller| {
            let token = caller.token();
            let mut watch = |progress: Reading<'_>| {
                if let (Reading::Text(piece), Some(callback)) = (progress, &on_text) {
                    let (callback, text) = (Arc::clone(callback), piece.text.to_owned());
                    let place = (piece.request, piece.sample);
                    caller.tell(move |py| callback.call1(py, (text, place)).map(drop));
                }
                token.flow()
            };
            let written = self.written(&prompts, samples, &options, &token, &mut watch)?;
            token.check()?;
            Ok(Value::from(written).to_string())
        })
    }

    /// The log probabilities of continuations of prompts, as JSON: `[requests][continuations]`.
    #[pyo3(signature = (requests, stop=None))]
    fn score(
        &self,
        py: Python<'_>,
        requests: Vec<(String, Vec<String>)>,
        stop: Option<&Stop>,
    ) -> PyResult<String> {
        run(py, stop, |caller| {
            let decoder = self.decoder()?.until(&caller.token());
            let prompts = requests
                .iter()
                .map(|(prompt, _)| decoder.raw_prompt(prompt))
                .collect::<Result<Vec<_>, _>>()?;
            let continuations: Vec<Vec<&str>> = requests
                .iter()
                .map(|(_, texts)| texts.iter().map(String::as_str).collect())
                .collect();
            let requests: Vec<ScoreRequest<'_>> = prompts
                .iter()
                .zip(&continuations)
                .map(|(prompt, continuations)| ScoreRequest::new(prompt, continuations))
                .collect();
            let scores = decoder.score_many(&requests)?.into_iter().map(|scores| {
                let scores = scores.iter().map(|score| {
                    json!({ "tokens": score.tokens, "logprobs": score.logprobs, "sum": score.sum() })
                });
                scores.collect::<Value>()
            });
            Ok(scores.collect::<Value>().to_string())
        })
    }

    /// How many layers the model has; `None` behind an endpoint.
    #[getter]
    fn layers(&self) -> Option<usize> {
        self.shared().capabilities().hidden_layers
    }

    /// The residual streams after a layer at the last tokens of texts, in the format of [`Embedder::embed`], and
    /// their width.
    #[pyo3(signature = (texts, layer, stop=None))]
    fn hidden<'py>(
        &self,
        py: Python<'py>,
        texts: Vec<String>,
        layer: usize,
        stop: Option<&Stop>,
    ) -> PyResult<(Bound<'py, PyBytes>, usize)> {
        let (bytes, width) = run(py, stop, |caller| {
            let decoder = self.decoder()?.until(&caller.token());
            let prompts = texts.iter().map(|text| decoder.raw_prompt(text));
            let prompts = prompts.collect::<Result<Vec<_>, _>>()?;
            let states = decoder.hidden(&prompts.iter().collect::<Vec<_>>(), layer)?;
            Ok((
                little_endian(states.iter().flatten()),
                decoder.config().hidden,
            ))
        })?;
        Ok((PyBytes::new(py, &bytes), width))
    }
}

impl Model {
    /// Continues prompts: `[prompts][samples]`.
    fn written(
        &self,
        prompts: &[Given],
        samples: usize,
        options: &GenerateOptions,
        token: &CancelToken,
        watch: &mut dyn FnMut(Reading<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Value>, Failure> {
        match &*self.opened {
            Opened::Here(decoder) => {
                let prompts = prompts.iter().map(|given| match given {
                    Given::Text(text) => Ok(decoder.raw_prompt(text)?),
                    Given::Conversation(turns) => Ok(decoder.chat_prompt(&messages(turns)?, 0)?),
                });
                let prompts = prompts.collect::<Result<Vec<_>, Failure>>()?;
                let written =
                    decoder.generate_many(&requests(&prompts, samples, options), watch)?;
                Ok(listed(written, |sample| {
                    json!({
                        "text": sample.text, "tokens": sample.tokens, "logprobs": sample.logprobs,
                        "finish": sample.finish.name(), "prompt_tokens": sample.prompt_tokens,
                    })
                }))
            }
            Opened::Behind { model, url } => {
                let model = bound_model(Arc::clone(model), token);
                let prompts = prompts.iter().map(|given| match given {
                    Given::Text(text) => Ok(asked(text)),
                    Given::Conversation(_) => {
                        Err(SetupError::ModelElsewhere { url: url.clone() }.into())
                    }
                });
                let prompts = prompts.collect::<Result<Vec<_>, Failure>>()?;
                let written = model.generate(&requests(&prompts, samples, options), watch)?;
                Ok(listed(written, |sample| {
                    json!({
                        "text": sample.text, "tokens": null, "logprobs": sample.logprobs,
                        "finish": sample.finish.name(), "prompt_tokens": sample.prompt_tokens,
                    })
                }))
            }
        }
    }
}

fn requests<'a, P>(
    prompts: &'a [P],
    samples: usize,
    options: &'a GenerateOptions,
) -> Vec<GenerateRequest<'a, P>> {
    prompts
        .iter()
        .map(|prompt| GenerateRequest::new(prompt, samples, options))
        .collect()
}

fn listed<T>(written: Vec<Vec<T>>, shown: impl Fn(T) -> Value) -> Vec<Value> {
    written
        .into_iter()
        .map(|samples| samples.into_iter().map(&shown).collect())
        .collect()
}

/// A text as the whole question to an endpoint's model.
fn asked(text: &str) -> Prompt {
    Prompt {
        reply: Reply::Text,
        ..Prompt::new("", Examples::Fixed(&[]), text.to_owned())
    }
}

fn messages(turns: &[(String, String)]) -> Result<Vec<Message>, Failure> {
    let messages = turns.iter().map(|(role, content)| {
        let speaker = match role.as_str() {
            "system" => Speaker::System,
            "user" => Speaker::User,
            "assistant" => Speaker::Assistant,
            other => {
                let reason = "a role is system, user or assistant";
                return Err(BindingError::argument("role", other, reason));
            }
        };
        Ok(Message::new(speaker, content.as_str()))
    });
    messages.collect()
}

fn sampling(
    temperature: f64,
    top_k: Option<usize>,
    top_p: Option<f32>,
    seed: u64,
) -> Result<Sampling, Failure> {
    if !temperature.is_finite() || temperature < 0.0 {
        let reason = "a temperature is a number from 0 up";
        return Err(BindingError::argument("temperature", temperature, reason));
    }
    Ok(match Sampling::at(temperature as f32, seed) {
        Sampling::Random {
            temperature, seed, ..
        } => Sampling::Random {
            temperature,
            top_k,
            top_p,
            seed,
        },
        Sampling::Greedy => Sampling::Greedy,
    })
}

/// A model that maps texts to vectors.
#[pyclass(frozen, module = "ken._ken")]
pub(crate) struct Embedder {
    embedder: Kept<Arc<dyn EmbedderModel>>,
}

#[pymethods]
impl Embedder {
    #[new]
    #[pyo3(signature = (settings, config=None, progress=None, stop=None))]
    fn new(
        py: Python<'_>,
        settings: &Bound<'_, PyDict>,
        config: Option<std::path::PathBuf>,
        progress: Option<Py<PyAny>>,
        stop: Option<&Stop>,
    ) -> PyResult<Self> {
        let settings = resolved(settings, config)?;
        let embedder = run(py, stop, |caller| {
            let progress = Progress::new(caller, progress);
            opening(&settings, caller, &progress, |setup| {
                setup.embedder(&settings.embedder)
            })
        })?;
        Ok(Self {
            embedder: Kept::new(embedder.into()),
        })
    }

    #[getter]
    fn fingerprint(&self) -> String {
        self.embedder.fingerprint().to_owned()
    }

    #[getter]
    fn dimensions(&self) -> usize {
        self.embedder.dimensions()
    }

    #[getter]
    fn max_tokens(&self) -> Option<usize> {
        self.embedder.max_tokens()
    }

    /// The vectors of texts, as little-endian 32-bit floats one after the other: `[texts][dimensions]`.
    #[pyo3(signature = (texts, as_query, stop=None))]
    fn embed<'py>(
        &self,
        py: Python<'py>,
        texts: Vec<String>,
        as_query: bool,
        stop: Option<&Stop>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let role = if as_query { Role::Query } else { Role::Passage };
        let bytes = run(py, stop, |caller| {
            let embedder = bound_embedder(Arc::clone(&self.embedder), &caller.token());
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let vectors = embedder.embed(&texts, role)?;
            Ok(little_endian(vectors.iter().flatten()))
        })?;
        Ok(PyBytes::new(py, &bytes))
    }
}

/// Numbers as bytes for Python's buffers.
pub(crate) fn little_endian<'n>(numbers: impl Iterator<Item = &'n f32>) -> Vec<u8> {
    numbers.flat_map(|number| number.to_le_bytes()).collect()
}
