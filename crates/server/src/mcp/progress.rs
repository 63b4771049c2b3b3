//! The progress of a tool call, for clients that ask for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

/// Receives a message to the client.
pub(crate) type Tell = Arc<dyn Fn(Value) + Send + Sync>;

/// The progress of one call.
pub(crate) struct Progress {
    /// The token by which the client knows the call, and where to send messages; `None` if it did not ask for them.
    to: Option<(Value, Tell)>,
    /// Steps so far.
    steps: AtomicU64,
}

impl Progress {
    /// The progress of a call with these parameters.
    pub(crate) fn of(params: &Value, tell: Option<&Tell>) -> Self {
        let token = token(params).cloned();
        Self {
            to: token.zip(tell.cloned()),
            steps: AtomicU64::default(),
        }
    }

    /// Reports the next step.
    pub(crate) fn step(&self, message: &str) {
        let Some((token, tell)) = &self.to else {
            return;
        };
        let progress = self.steps.fetch_add(1, Ordering::Relaxed) + 1;
        let params = json!({ "progressToken": token, "progress": progress, "message": message });
        tell(json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params }));
    }
}

/// The token of a call whose client asks for progress.
pub(crate) fn token(params: &Value) -> Option<&Value> {
    let token = params.get("_meta")?.get("progressToken")?;
    (token.is_string() || token.is_number()).then_some(token)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn only_calls_with_a_token_are_told_of() {
        let told: Arc<Mutex<Vec<Value>>> = Arc::default();
        let heard = Arc::clone(&told);
        let tell: Tell = Arc::new(move |message| heard.lock().unwrap().push(message));
        for (token, count) in [
            (json!("a"), 2),
            (json!(7), 2),
            (json!(null), 0),
            (json!([1]), 0),
        ] {
            let params = json!({ "_meta": { "progressToken": token } });
            let progress = Progress::of(&params, Some(&tell));
            progress.step("one");
            progress.step("two");
            let told = std::mem::take(&mut *told.lock().unwrap());
            assert_eq!(told.len(), count, "{token}");
            if let [first, second] = told.as_slice() {
                let params = [first, second].map(|one| &one["params"]);
                assert_eq!(params.map(|one| &one["progress"]), [&json!(1), &json!(2)]);
                assert!(params.iter().all(|one| one["progressToken"] == token));
            }
        }
        Progress::of(&json!({}), None).step("nobody hears it");
    }
}
