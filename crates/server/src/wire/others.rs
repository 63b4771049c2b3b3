//! Parameters of OpenAI's API that ken does not read.

use serde_json::{Map, Value};

use super::refusal::Refusal;

/// The most stop texts, as in OpenAI's API.
const MOST_STOPS: usize = 4;

/// The longest stop text, in bytes.
const LONGEST_STOP: usize = 1024;

/// Whether a parameter that other model servers know beyond OpenAI's has the value that changes nothing. A parameter
/// that no server is known to obey changes nothing either.
pub(crate) fn changes_nothing(name: &str, value: &Value) -> bool {
    let is = |neutral: f64| value.as_f64() == Some(neutral);
    match name {
        "repetition_penalty" | "repeat_penalty" | "length_penalty" | "typical_p" | "best_of" => {
            is(1.0)
        }
        "min_p" | "min_tokens" | "top_a" | "mirostat" | "dry_multiplier" | "xtc_probability" => {
            is(0.0)
        }
        "top_k" => is(0.0) || is(-1.0),
        "ignore_eos" | "use_beam_search" | "echo" | "continue_final_message" => *value == false,
        "bad_words" | "stop_token_ids" | "logits_processors" => *value == Value::Array(Vec::new()),
        "guided_json" | "guided_regex" | "guided_choice" | "guided_grammar"
        | "structured_outputs" | "grammar" | "json_schema" | "regex" | "ebnf" => false,
        _ => true,
    }
}

/// The stop texts of an answer.
///
/// # Errors
/// Too many, too long, or something else.
pub(crate) fn stop(stop: Option<&Value>) -> Result<Vec<String>, Refusal> {
    let texts = match stop {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(Value::String(text)) => Some(vec![text.clone()]),
        Some(Value::Array(texts)) if texts.len() <= MOST_STOPS => {
            let texts = texts.iter().map(|text| text.as_str().map(str::to_owned));
            texts.collect()
        }
        Some(_) => None,
    };
    let texts = texts.filter(|texts| texts.iter().all(|text| text.len() <= LONGEST_STOP));
    let texts = texts.ok_or_else(|| {
        let message =
            format!("`stop` is a text or up to {MOST_STOPS}, each of at most {LONGEST_STOP} bytes");
        Refusal::invalid("stop", message)
    })?;
    Ok(texts.into_iter().filter(|text| !text.is_empty()).collect())
}

/// The least score of results, in the options of ranking; `None` to leave nothing out.
///
/// # Errors
/// Anything but a number from 0 to 1.
pub(crate) fn threshold(ranking_options: Option<&Value>) -> Result<Option<f32>, Refusal> {
    let threshold = ranking_options.and_then(|options| options.get("score_threshold"));
    let threshold = threshold.filter(|threshold| !threshold.is_null());
    let least = threshold.map(|value| value.as_f64().filter(|least| (0.0..=1.0).contains(least)));
    match least {
        None => Ok(None),
        Some(Some(least)) => Ok(Some(least as f32).filter(|least| *least > 0.0)),
        Some(None) => {
            let message = "it must be a number from 0 to 1";
            Err(Refusal::invalid("ranking_options.score_threshold", message))
        }
    }
}

/// Refuses unsupported parameters that would change the results of a vector store.
///
/// # Errors
/// The first such parameter.
pub(crate) fn refuse_of_store(others: &Map<String, Value>) -> Result<(), Refusal> {
    refuse(others, |name, value| {
        !matches!(name, "chunking_strategy" | "expires_after") || value["type"] == "auto"
    })
}

/// Refuses parameters that would change the result, rather than ignoring them.
///
/// # Errors
/// The first that is neither null nor harmless.
pub(crate) fn refuse(
    others: &Map<String, Value>,
    is_harmless: impl Fn(&str, &Value) -> bool,
) -> Result<(), Refusal> {
    let refused = others
        .iter()
        .find(|(name, value)| !value.is_null() && !is_harmless(name, value));
    let Some((name, _)) = refused else {
        return Ok(());
    };
    let message = match name.as_str() {
        "conversation" => {
            "`conversation` is not supported: send what was said as input, or name the response before in \
             `previous_response_id`"
                .to_owned()
        }
        "max_tokens" | "max_completion_tokens" => format!(
            "`{name}` is not supported here: the limit is `max_output_tokens` of responses, and `max_tokens` of \
             completions"
        ),
        "response_format" => {
            "`response_format` is not supported here with this value: it is `text.format` of responses, and \
             completions of text have none"
                .to_owned()
        }
        _ => format!("`{name}` is not supported here with this value"),
    };
    Err(Refusal::bad("unsupported_parameter", message).of(name))
}
