//! Arbitrary bytes as the JSON of an endpoint, for the seeded mutations below and for the fuzz target.

use ken_model::remote::parsers::{Answer, json};

/// Seeds: valid responses of every kind.
pub(crate) const SEEDS: [&str; 8] = [
    r#"{"choices": [{"index": 1, "text": " b\nc", "finish_reason": "stop", "stop_reason": "\n",
        "logprobs": {"tokens": [" b", "\n", "c"], "token_logprobs": [-0.5, -1e-9, -2]}},
        {"index": 0, "text": "d", "finish_reason": "length", "logprobs": null}],
        "usage": {"prompt_tokens": 12, "completion_tokens": 4}}"#,
    r#"{"choices": [{"message": {"role": "assistant", "content": "海\nx"}, "finish_reason": "stop",
        "logprobs": {"content": [{"token": "\ufffd", "logprob": -1, "bytes": [230, 181]},
        {"token": "\ufffd", "logprob": -1, "bytes": [183]}, {"token": "\n", "logprob": -0.1},
        {"token": "bytes:\\xf0\\x9f", "logprob": -3}]}}], "usage": {"prompt_tokens": 9}}"#,
    r#"{"choices": [{"text": "x", "prompt_logprobs": [null,
        {"464": {"logprob": -3.5, "rank": 7, "decoded_token": "The"}},
        {"6766": {"logprob": -8, "rank": 1, "decoded_token": " sky"}}]}]}"#,
    r#"{"choices": [{"text": "It is", "logprobs": {"tokens": ["It", " is", "x"],
        "token_logprobs": [null, -1.5, -0.5]}}], "usage": {"prompt_tokens": 2}}"#,
    r#"{"object": "list", "data": [{"index": 1, "embedding": [0.5, -1e-3, 3]},
        {"index": 0, "embedding": [1, 2, 2.5]}]}"#,
    r#"{"object": "list", "data": [{"id": "tiny", "max_model_len": 2048, "meta": {"n_ctx": 9}}]}"#,
    r#"{"count": 3, "max_model_len": 2048, "tokens": [1, 2, 3]}"#,
    r#"{"error": {"message": "This model's maximum context length is 8 tokens", "code": 400}}"#,
];

const KINDS: [Answer; 6] = [
    Answer::Completions,
    Answer::Chat,
    Answer::Scores,
    Answer::Embeddings,
    Answer::Models,
    Answer::Tokens,
];

/// Parses the bytes as a response of every kind, and returns how many kinds succeed. A refusal must be a typed error
/// with a message of readable length.
pub(crate) fn read(bytes: &[u8]) -> usize {
    let understood = |answer: &Answer| match json(bytes, *answer) {
        Ok(()) => true,
        Err(error) => {
            let message = error.to_string();
            assert!(!error.kind().is_empty() && !message.is_empty());
            assert!(message.chars().count() < 8_000, "{message}");
            false
        }
    };
    KINDS.iter().filter(|kind| understood(kind)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::understood_or_refused;

    #[test]
    fn a_response_is_understood_or_refused() {
        understood_or_refused(&SEEDS, 4_000, read);
    }

    #[test]
    fn numbers_and_nesting_without_end_are_refused() {
        let kind = |text: &str, answer| json(text.as_bytes(), answer).unwrap_err().kind();
        let numbers = |count: usize| vec!["1"; count].join(",");
        let embeddings = |numbers: &str| {
            format!(r#"{{"data": [{{"embedding": [{numbers}]}}, {{"embedding": [1, 2]}}]}}"#)
        };
        let many = embeddings(&numbers(20_000));
        assert_eq!(kind(&many, Answer::Embeddings), "bad_embeddings");
        let far_too_many = embeddings(&numbers(3_000_000));
        let too_large = "endpoint_answer_too_large";
        assert_eq!(kind(&far_too_many, Answer::Embeddings), too_large);
        let logprobs = format!(
            r#"{{"choices": [{{"text": "x", "logprobs": {{"token_logprobs": [{}]}}}}]}}"#,
            vec!["-1"; 3_000_000].join(",")
        );
        assert_eq!(kind(&logprobs, Answer::Completions), too_large);
        let usage =
            r#"{"choices": [{"text": "x"}], "usage": {"prompt_tokens": 1000000000000000000}}"#;
        assert_eq!(kind(usage, Answer::Completions), too_large);
        assert_eq!(
            kind(r#"{"count": 18446744073709551615}"#, Answer::Tokens),
            too_large
        );
        for deep in ["[".repeat(1 << 20), "{\"choices\":".repeat(1 << 17)] {
            assert_eq!(kind(&deep, Answer::Completions), "endpoint_bad_json");
        }
    }

    #[test]
    fn a_long_token_is_not_searched_for_everywhere() {
        let text = "a".repeat(1 << 20);
        let token = format!("{}b", "a".repeat(1 << 19));
        let answer = format!(
            r#"{{"choices": [{{"text": "{text}", "logprobs": {{"tokens": ["\ufffd", "{token}"],
                "token_logprobs": [-1, -1]}}}}]}}"#
        );
        let begun = std::time::Instant::now();
        assert!(json(answer.as_bytes(), Answer::Completions).is_ok());
        assert!(begun.elapsed() < std::time::Duration::from_secs(20));
    }
}
