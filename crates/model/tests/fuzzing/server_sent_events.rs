//! Arbitrary bytes as the server-sent events of an endpoint, for the seeded mutations below and for the fuzz target.

use ken_model::remote::parsers::server_sent_events;

/// Seeds: valid streams.
pub(crate) const SEEDS: [&str; 3] = [
    "data: {\"choices\": [{\"index\": 0, \"text\": \" Os\", \"logprobs\": {\"tokens\": [\" Os\"], \
     \"token_logprobs\": [-0.5]}}]}\n\ndata: {\"choices\": [{\"text\": \"lo\\n\", \"finish_reason\": \
     \"stop\", \"stop_reason\": \"\\n\"}]}\n\ndata: {\"choices\": [], \"usage\": {\"prompt_tokens\": 5, \
     \"completion_tokens\": 2}}\n\ndata: [DONE]\n\n",
    ": hello\r\nevent: x\r\ndata: {\"choices\": [{\"delta\": {\"role\": \"assistant\", \"content\": \
     \"\"}}]}\r\n\r\ndata:{\"choices\": [{\"delta\": {\"content\": \"海\"}, \"logprobs\": {\"content\": \
     [{\"token\": \"\\ufffd\", \"logprob\": -1, \"bytes\": [230, 181]}]}}]}\r\n\r\ndata: {\"choices\": \
     [{\"delta\": {}, \"finish_reason\": \"length\"}]}\r\n\r\n",
    "data: {\"choices\": [{\"text\": \"x\"}]}\n\ndata: {\"error\": {\"message\": \"CUDA error\"}}\n\n",
];

/// Parses the bytes as a stream of either route, and returns how many succeed. A refusal must be a typed error with a
/// message of readable length.
pub(crate) fn read(bytes: &[u8]) -> usize {
    let understood = |chat: &bool| match server_sent_events(bytes, *chat) {
        Ok(()) => true,
        Err(error) => {
            let message = error.to_string();
            assert!(!error.kind().is_empty() && !message.is_empty());
            assert!(message.chars().count() < 2_000, "{message}");
            false
        }
    };
    [false, true].iter().filter(|chat| understood(chat)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::understood_or_refused;

    #[test]
    fn a_stream_is_understood_or_refused() {
        understood_or_refused(&SEEDS, 6_000, read);
    }

    #[test]
    fn what_has_no_end_is_refused() {
        let kind = |bytes: &[u8]| server_sent_events(bytes, false).unwrap_err().kind();
        let too_large = "endpoint_answer_too_large";
        assert_eq!(kind(&vec![b'x'; 2 << 20]), too_large);
        assert_eq!(
            kind(&[b"data: ", &vec![b'['; 2 << 20][..]].concat()),
            too_large
        );
        let deep = format!("data: {}\n\n", "[".repeat(10_000));
        assert_eq!(kind(deep.as_bytes()), "endpoint_bad_json");
        let logprobs = vec!["-1"; 100_000].join(",");
        let event = format!(
            "data: {{\"choices\": [{{\"text\": \"x\", \"logprobs\": {{\"token_logprobs\": [{logprobs}]}}}}]}}\n\n"
        );
        assert_eq!(kind(event.repeat(11).as_bytes()), too_large);
        let usage = "data: {\"usage\": {\"completion_tokens\": 99999999999}}\n\n";
        assert_eq!(kind(usage.as_bytes()), too_large);
        // Comments alone, which keep connections open, are not an answer.
        assert_eq!(kind(&b": ping\n\n".repeat(10_000)), "endpoint_stream_cut");
    }
}
