//! Chat templates, which turn a conversation into the text that an instruction-tuned model was trained on.

use std::io::ErrorKind;
use std::path::Path;

use ken_language::Thoughts;
use minijinja::context;
use serde::Serialize;
use serde_json::Value;

use crate::decoder::error::DecoderError;
use crate::decoder::files::gguf::Metadata;
use crate::decoder::files::settings_file;
use crate::decoder::text::template;
use crate::small_file::{self, MOST_TEMPLATE_BYTES};

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Instructions that hold for the whole conversation.
    System,
    /// The person.
    User,
    /// The model.
    Assistant,
}

/// One turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What it says.
    pub content: String,
}

impl Message {
    /// A turn.
    pub fn new(role: Role, content: impl Into<String>) -> Self {
        Self {
            role,
            content: content.into(),
        }
    }
}

/// A model's chat template with the names of its special tokens.
pub(in crate::decoder) struct ChatTemplate {
    source: String,
    beginning: String,
    end: String,
}

impl ChatTemplate {
    /// Whether the template contains a text.
    pub(in crate::decoder) fn mentions(&self, text: &str) -> bool {
        [&self.source, &self.beginning, &self.end]
            .iter()
            .any(|part| part.contains(text))
    }

    /// Reads the template from GGUF metadata; `None` if the model has none.
    ///
    /// # Errors
    /// A template that is too long.
    pub(in crate::decoder) fn from_gguf(
        metadata: &Metadata<'_>,
    ) -> Result<Option<Self>, DecoderError> {
        let Some(source) = metadata.optional_string("tokenizer.chat_template") else {
            return Ok(None);
        };
        let tokens = metadata
            .strings("tokenizer.ggml.tokens")
            .unwrap_or_default();
        let token = |key: &str| {
            metadata
                .optional_number(key)
                .and_then(|id| tokens.get(id as usize))
                .map(|token| (*token).to_owned())
                .unwrap_or_default()
        };
        Ok(Some(Self {
            source: bounded(source.to_owned())?,
            beginning: token("tokenizer.ggml.bos_token_id"),
            end: token("tokenizer.ggml.eos_token_id"),
        }))
    }

    /// Reads `chat_template.jinja` or `tokenizer_config.json`; `None` without a template.
    ///
    /// # Errors
    /// A template that is too long.
    pub(in crate::decoder) fn from_folder(folder: &Path) -> Result<Option<Self>, DecoderError> {
        let settings = folder.join("tokenizer_config.json");
        let config: Value = settings_file::read(&settings).unwrap_or_default();
        let of_config = || match config.get("chat_template")? {
            Value::String(template) => Some(template.clone()),
            // Of several named templates, the default one is for plain conversations.
            Value::Array(named) => named
                .iter()
                .find(|entry| entry["name"] == "default")
                .and_then(|entry| entry.get("template")?.as_str().map(str::to_owned)),
            _ => None,
        };
        let file = folder.join("chat_template.jinja");
        let source = match small_file::text(&file, MOST_TEMPLATE_BYTES) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == ErrorKind::FileTooLarge => {
                return Err(DecoderError::io(&file, error));
            }
            Err(_) => of_config(),
        };
        let Some(source) = source else {
            return Ok(None);
        };
        // A special token is a string, or an object with the string in `content`.
        let token = |key: &str| {
            let value = config.get(key);
            value
                .and_then(Value::as_str)
                .or_else(|| value?.get("content")?.as_str())
                .unwrap_or_default()
                .to_owned()
        };
        Ok(Some(Self {
            source: bounded(source)?,
            beginning: token("bos_token"),
            end: token("eos_token"),
        }))
    }

    /// The source of the template.
    pub(in crate::decoder) fn source(&self) -> &str {
        &self.source
    }

    /// The tokens that begin and end a text; empty if there are none.
    pub(in crate::decoder) fn ends(&self) -> (&str, &str) {
        (&self.beginning, &self.end)
    }

    /// Separates thoughts from an answer that the template opens.
    pub(in crate::decoder) fn thoughts(&self) -> Thoughts {
        let asked = [Message::new(Role::User, "?")];
        let opened = self.render(&asked, &[], true).unwrap_or_default();
        Thoughts::after(&opened)
    }

    /// The text of a conversation, in which the model should not think if the template gives the choice; with
    /// `open_answer` it ends where the model answers. The model may call `tools`, which are described as in OpenAI's
    /// API.
    pub(in crate::decoder) fn render<M: Serialize>(
        &self,
        messages: &[M],
        tools: &[Value],
        open_answer: bool,
    ) -> Result<String, DecoderError> {
        let written = serde_json::to_string(&(messages, tools)).map_err(|error| {
            let reason = error.to_string();
            DecoderError::ChatTemplate { reason }
        })?;
        let context = context! {
            messages => messages,
            tools => (!tools.is_empty()).then_some(tools),
            add_generation_prompt => open_answer,
            bos_token => self.beginning,
            eos_token => self.end,
            // Templates of models that may think ask for either; thoughts are not part of an answer.
            enable_thinking => false,
            thinking => false,
        };
        template::render(&self.source, context, written.len())
            .map_err(|reason| DecoderError::ChatTemplate { reason })
    }
}

/// A template within the limit of length.
fn bounded(source: String) -> Result<String, DecoderError> {
    let bytes = source.len();
    if bytes as u64 <= MOST_TEMPLATE_BYTES {
        return Ok(source);
    }
    let reason = format!("it has {bytes} bytes; none has more than {MOST_TEMPLATE_BYTES}");
    Err(DecoderError::ChatTemplate { reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(source: &str, messages: &[Message]) -> Result<String, DecoderError> {
        let template = ChatTemplate {
            source: source.to_owned(),
            beginning: "<s>".to_owned(),
            end: "</s>".to_owned(),
        };
        template.render(messages, &[], true)
    }

    #[test]
    fn renders_roles_and_special_tokens() {
        let source = "{{ bos_token }}{% for m in messages %}[{{ m['role'] }}]{{ m.content.strip() }}{{ eos_token }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}";
        let messages = [
            Message::new(Role::System, " be brief "),
            Message::new(Role::User, "hi"),
        ];
        assert_eq!(
            render(source, &messages).unwrap(),
            "<s>[system]be brief</s>[user]hi</s>[assistant]"
        );
    }

    #[test]
    fn a_model_that_may_think_is_not_to() {
        let source = "{% if enable_thinking is defined and enable_thinking is false %}<think></think>{% else %}<think>{% endif %}";
        assert_eq!(render(source, &[]).unwrap(), "<think></think>");
        let of = |source: &str| ChatTemplate {
            source: source.to_owned(),
            beginning: String::new(),
            end: String::new(),
        };
        assert!(!of(source).thoughts().has_thoughts());
        assert!(of("[assistant]<think>\n").thoughts().has_thoughts());
    }

    #[test]
    fn a_template_that_refuses_says_why() {
        let error = render("{{ raise_exception('no system role') }}", &[]).unwrap_err();
        assert!(error.to_string().contains("no system role"), "{error}");
    }
}
