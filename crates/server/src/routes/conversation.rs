//! From the messages of a client to what was said before and the question.

use ken_answer::Exchange;

use crate::wire::chat::{Content, Role};
use crate::wire::refusal::Refusal;

/// The most messages of a conversation.
const MOST_MESSAGES: usize = 1000;

/// What was said before, and the question. `param` is where the client wrote the messages; `kinds` are
/// the parts of messages that are texts there.
///
/// # Errors
/// Too many messages, parts that are no text, and a conversation that does not end with a question.
pub(crate) fn read(
    messages: &[(Role, Option<&Content>)],
    param: &str,
    kinds: &[&str],
) -> Result<(Vec<Exchange>, String), Refusal> {
    if messages.len() > MOST_MESSAGES {
        let message = format!("at most {MOST_MESSAGES} messages can be given");
        return Err(Refusal::bad("too_many_messages", message).of(param));
    }
    let mut said: Vec<Exchange> = Vec::new();
    let mut last = None;
    for (role, content) in messages {
        let text = text_of(*content, kinds).map_err(|refusal| refusal.of(param))?;
        match role {
            Role::User => said.push(Exchange {
                question: text,
                answer: String::new(),
            }),
            Role::Assistant => {
                if let Some(exchange) = said.last_mut() {
                    exchange.answer.push_str(&text);
                }
            }
            _ => continue,
        }
        last = Some(*role);
    }
    match (last, said.pop()) {
        (Some(Role::User), Some(question)) => Ok((said, question.question)),
        _ => {
            let message = "the last message has to be one of the user";
            Err(Refusal::bad("no_question", message).of(param))
        }
    }
}

fn text_of(content: Option<&Content>, kinds: &[&str]) -> Result<String, Refusal> {
    let parts = match content {
        None => return Ok(String::new()),
        Some(Content::Text(text)) => return Ok(text.clone()),
        Some(Content::Parts(parts)) => parts,
    };
    let mut texts = Vec::new();
    for part in parts {
        match &part.text {
            Some(text) if kinds.contains(&part.kind.as_str()) => texts.push(text.as_str()),
            _ => {
                let kind = &part.kind;
                let message = format!("a part of type {kind:?} is not understood, only text");
                return Err(Refusal::bad("unsupported_content", message));
            }
        }
    }
    Ok(texts.join("\n"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::wire::chat::Message;

    fn conversation(messages: Value) -> Result<(Vec<Exchange>, String), &'static str> {
        let messages: Vec<Message> = serde_json::from_value(messages).unwrap();
        let messages = messages.iter().map(|one| (one.role, one.content.as_ref()));
        let messages: Vec<_> = messages.collect();
        read(&messages, "messages", &["text"]).map_err(|refusal| refusal.code())
    }

    #[test]
    fn a_conversation_is_exchanges_and_a_question() {
        let (before, question) = conversation(json!([
            {"role": "system", "content": "be nice"},
            {"role": "user", "content": "who?"},
            {"role": "assistant", "content": "Ida"},
            {"role": "user", "content": [{"type": "text", "text": "and"}, {"type": "text", "text": "when?"}]},
        ]))
        .unwrap();
        let (first, answer) = ("who?".to_owned(), "Ida".to_owned());
        assert_eq!(
            before,
            [Exchange {
                question: first,
                answer
            }]
        );
        assert_eq!(question, "and\nwhen?");
    }

    #[test]
    fn what_asks_nothing_is_refused() {
        let user = json!({"role": "user", "content": "who?"});
        for messages in [
            json!([]),
            json!([{"role": "system", "content": "x"}]),
            json!([user, {"role": "assistant", "content": "Ida"}]),
        ] {
            assert_eq!(conversation(messages), Err("no_question"));
        }
        let image = json!([{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]);
        assert_eq!(conversation(image), Err("unsupported_content"));
    }
}
