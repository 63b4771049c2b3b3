//! What models read and write: tokens, chat templates, forms of prompts.

pub(in crate::decoder) mod chat;
pub(in crate::decoder) mod constraint;
pub(in crate::decoder) mod escaping;
pub(in crate::decoder) mod prompt;
pub(in crate::decoder) mod prompt_form;
pub(in crate::decoder) mod read_as;
pub(in crate::decoder) mod template;
pub(in crate::decoder) mod text_part;
pub(in crate::decoder) mod token_texts;
pub(in crate::decoder) mod tokenizer;
