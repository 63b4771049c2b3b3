//! A model that gives no answer: what is absent is not agreement, and the response says why there is none.

use std::ops::ControlFlow;

use ken_language::{
    Finish, GenerateRequest, Generation, LanguageModel, ModelError, Progress, Prompt, Score,
    ScoreRequest,
};
use ken_server::Keys;
use ken_testing::{TableModel, cases, extended, has, says};
use serde_json::{Value, json};

use crate::delegated::delegated;
use crate::fixture::{FRANCE, LIMITS, Running, facts};
use crate::watch::has_line;

/// Knows the table but tells none of it: it ends its answers at once, and scores without numbers.
struct Silent {
    table: TableModel,
    finish: Finish,
}

impl LanguageModel for Silent {
    delegated!(table);

    fn generate(
        &self,
        requests: &[GenerateRequest<'_, Prompt>],
        _: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Vec<Generation>>, ModelError> {
        let mut written = self
            .table
            .generate(requests, &mut |_| ControlFlow::Continue(()))?;
        for text in written.iter_mut().flatten() {
            text.text = String::new();
            text.finish = self.finish;
            text.refusal = (self.finish == Finish::Refused).then(|| "I must not say.".to_owned());
        }
        Ok(written)
    }

    fn score(&self, requests: &[ScoreRequest<'_, Prompt>]) -> Result<Vec<Vec<Score>>, ModelError> {
        let untold = |request: &ScoreRequest<'_, Prompt>| {
            let score = Score {
                logprobs: vec![f32::NAN],
            };
            vec![score; request.continuations.len()]
        };
        Ok(requests.iter().map(untold).collect())
    }
}

fn silent(finish: Finish) -> Running {
    let table = TableModel::new(facts()).unwrap();
    Running::over(Silent { table, finish }, LIMITS, &Keys::default())
}

#[test]
fn a_model_that_says_nothing_is_never_sure() {
    for finish in [
        Finish::End,
        Finish::Length,
        Finish::Refused,
        Finish::Filtered,
        Finish::ToolCall,
    ] {
        let server = silent(finish);
        let policies = "certainty@1 prompt@1 uncertainty:semantic-entropy@99 \
            uncertainty:lexical-similarity@1 uncertainty:perplexity@999 uncertainty:margin@1";
        for policy in policies.split(' ') {
            let trace = server.chat(policy, FRANCE, &json!({})).json()["ken"].clone();
            assert_eq!(trace["route"], "corpus", "{policy} {finish:?}: {trace}");
            assert_eq!(trace["cannot_tell"], true, "{policy} {finish:?}: {trace}");
            assert_eq!(trace["score"], Value::Null, "{trace}");
            let reason = trace["reason"].as_str().unwrap();
            assert!(
                reason.ends_with("cannot be told, so the corpus is searched"),
                "{reason}"
            );
        }
        has_line(&server, "ken_cannot_tell_total{policy=\"certainty\"} 1");
        let body = json!({"question": FRANCE, "policy": "certainty@1"});
        let known = server.post("/v1/ken/knows", &body).json();
        has!(known, ["score"]: Value::Null, ["retrieves"]: true);
    }
}

#[test]
fn a_response_says_why_there_is_no_answer() {
    for (finish, reason, lack, refusal) in cases![
        Finish::End => "stop", "empty", json!("The model wrote no answer.");
        Finish::Length => "length", "cut_off", Value::Null;
        Finish::Refused => "stop", "refused", json!("I must not say.");
        Finish::Filtered =>
            "content_filter", "filtered", json!("A filter of the model server withheld the answer.");
        Finish::ToolCall =>
            "stop", "tool_call", json!("The model called a tool instead of answering.");
    ] {
        let server = silent(finish);
        let value = server.chat("never", FRANCE, &json!({})).json();
        let choice = &value["choices"][0];
        assert_eq!(choice["finish_reason"], reason);
        assert_eq!(choice["message"]["refusal"], refusal, "{finish:?}");
        assert_eq!(value["ken"]["lack"], lack);
        let stream = server.chat("never", FRANCE, &json!({"stream": true}));
        let text = stream.text();
        says!(text => &format!("\"finish_reason\":\"{reason}\""));
        if let Value::String(refusal) = &refusal {
            says!(text => &format!("\"refusal\":\"{refusal}\""));
        }
        let body = json!({"model": "ken/never", "input": FRANCE});
        let response = server.post("/v1/responses", &body).json();
        let message = response["output"].as_array().unwrap().last().unwrap();
        let (status, details) = match finish {
            Finish::Length => ("incomplete", json!({"reason": "max_output_tokens"})),
            Finish::Filtered => ("incomplete", json!({"reason": "content_filter"})),
            _ => ("completed", Value::Null),
        };
        has!(response, ["status"]: status, ["incomplete_details"]: details);
        assert_eq!(message["content"][1]["refusal"], refusal, "{message}");
        let streamed = extended(body, &json!({"stream": true}));
        let text = server.post("/v1/responses", &streamed).text();
        let done = refusal
            .as_str()
            .map(|refusal| format!("\"content_index\":1,\"refusal\":\"{refusal}\"}}\n"));
        assert_eq!(
            text.contains("event: response.refusal.done\n"),
            done.is_some()
        );
        let done = done.unwrap_or_default();
        says!(text => &done);
    }
}
