//! From the messages of a client to its conversation: its own instruction, the earlier exchanges, and the question.

use std::collections::BTreeSet;

use ken_answer::{Conversation, Exchange};

use crate::wire::chat::{Content, Role};
use crate::wire::refusal::Refusal;

/// The most messages of a conversation.
const MOST_MESSAGES: usize = 1000;

/// The name of tools' messages among the unread parts.
pub(crate) const TOOL_MESSAGES: &str = "tool messages";

/// A conversation, and the parts of it that only a model's own server can read.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    pub(crate) conversation: Conversation,
    /// Messages of tools, and kinds of parts that are not text.
    pub(crate) unread: BTreeSet<String>,
    /// A part of the last message that is not text.
    unread_last: Option<String>,
    /// Whether the user spoke last.
    pub(crate) asks: bool,
}

impl Heard {
    /// The conversation, if ken could read everything that is asked.
    ///
    /// # Errors
    /// A last message that is not the user's, or that holds more than text.
    pub(crate) fn whole(&self, param: &str) -> Result<Conversation, Refusal> {
        if let Some(kind) = &self.unread_last {
            let message = format!("a part of type {kind:?} is not understood, only text");
            return Err(Refusal::bad("unsupported_content", message).of(param));
        }
        if !self.asks {
            let message = "the last message has to be one of the user";
            return Err(Refusal::bad("no_question", message).of(param));
        }
        Ok(self.conversation.clone())
    }
}

/// Reads messages. `param` is where the client wrote them; `kinds` are the kinds of parts that hold text there.
///
/// # Errors
/// Too many messages.
pub(crate) fn read(
    messages: &[(Role, Option<&Content>)],
    param: &str,
    kinds: &[&str],
) -> Result<Heard, Refusal> {
    if messages.len() > MOST_MESSAGES {
        let message = format!("at most {MOST_MESSAGES} messages can be given");
        return Err(Refusal::bad("too_many_messages", message).of(param));
    }
    let mut heard = Heard::default();
    let mut exchanges: Vec<Exchange> = Vec::new();
    for (role, content) in messages {
        let (text, unread) = text_of(*content, kinds);
        heard.unread.extend(unread.iter().cloned());
        match role {
            Role::User => {
                heard.unread_last = unread.into_iter().next();
                exchanges.push(Exchange {
                    question: text,
                    answer: String::new(),
                });
            }
            Role::Assistant => {
                if let Some(exchange) = exchanges.last_mut() {
                    exchange.answer.push_str(&text);
                }
            }
            Role::System | Role::Developer => {
                heard.conversation.instruct(&text);
                continue;
            }
            Role::Tool | Role::Function => {
                heard.unread.insert(TOOL_MESSAGES.to_owned());
            }
        }
        heard.asks = *role == Role::User;
    }
    if let Some(last) = exchanges.pop() {
        heard.conversation.question = last.question;
    }
    heard.conversation.before = exchanges;
    Ok(heard)
}

/// The text of a message, and the kinds of its other parts.
fn text_of(content: Option<&Content>, kinds: &[&str]) -> (String, Vec<String>) {
    let parts = match content {
        None => return (String::new(), Vec::new()),
        Some(Content::Text(text)) => return (text.clone(), Vec::new()),
        Some(Content::Parts(parts)) => parts,
    };
    let (mut texts, mut others) = (Vec::new(), Vec::new());
    for part in parts {
        match (&part.text, &part.refusal) {
            (Some(text), _) if kinds.contains(&part.kind.as_str()) => texts.push(text.as_str()),
            (_, Some(refusal)) if part.kind == "refusal" => texts.push(refusal.as_str()),
            _ => others.push(part.kind.clone()),
        }
    }
    (texts.join("\n"), others)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::wire::chat::Message;

    fn heard(messages: Value) -> Heard {
        let messages: Vec<Message> = serde_json::from_value(messages).unwrap();
        let messages = messages
            .iter()
            .map(|message| (message.role, message.content.as_ref()));
        let messages: Vec<_> = messages.collect();
        read(&messages, "messages", &["text"]).unwrap()
    }

    fn whole(messages: Value) -> Result<Conversation, &'static str> {
        let whole = heard(messages).whole("messages");
        whole.map_err(|refusal| refusal.code())
    }

    #[test]
    fn a_conversation_is_an_instruction_exchanges_and_a_question() {
        let conversation = whole(json!([
            {"role": "system", "content": "be nice"},
            {"role": "user", "content": "who?"},
            {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
            {"role": "developer", "content": "and brief"},
            {"role": "user", "content": [{"type": "text", "text": "and"}, {"type": "text", "text": "when?"}]},
        ]))
        .unwrap();
        let before = Exchange {
            question: "who?".to_owned(),
            answer: "no".to_owned(),
        };
        assert_eq!(
            conversation,
            Conversation {
                instruction: "be nice\n\nand brief".to_owned(),
                before: vec![before],
                question: "and\nwhen?".to_owned(),
            }
        );
    }

    #[test]
    fn what_asks_nothing_is_refused() {
        let user = json!({"role": "user", "content": "who?"});
        for messages in [
            json!([]),
            json!([{"role": "system", "content": "x"}]),
            json!([user, {"role": "assistant", "content": "Ida"}]),
            json!([user, {"role": "tool", "content": "Ida", "tool_call_id": "1"}]),
        ] {
            assert_eq!(whole(messages), Err("no_question"));
        }
    }

    #[test]
    fn what_is_no_text_is_refused_in_a_question_and_told_before() {
        let image = json!({"role": "user", "content": [{"type": "image_url", "image_url": {}}]});
        assert_eq!(whole(json!([image])), Err("unsupported_content"));
        let before = heard(json!([image, {"role": "user", "content": "who?"}]));
        assert_eq!(before.whole("messages").unwrap().question, "who?");
        assert_eq!(before.unread.into_iter().collect::<Vec<_>>(), ["image_url"]);
    }
}
