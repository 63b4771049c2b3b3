//! The text part of a multimodal model: its configuration and its tensors.

use serde_json::Value;

/// The `config.json` of the text part; `None` if the model has no parts.
pub(in crate::decoder) fn config(whole: &Value) -> Option<&Value> {
    whole.get("text_config").filter(|text| text.is_object())
}

/// The name of a tensor or a module without the prefix of the text part. Older and newer checkpoints have different
/// prefixes.
pub(in crate::decoder) fn bare_name(name: &str) -> String {
    if let Some(bare) = name.strip_prefix("language_model.") {
        return bare.to_owned();
    }
    match name.strip_prefix("model.language_model.") {
        Some(rest) => format!("model.{rest}"),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_ages_are_the_same() {
        for name in [
            "model.norm.weight",
            "language_model.model.norm.weight",
            "model.language_model.norm.weight",
        ] {
            assert_eq!(bare_name(name), "model.norm.weight");
        }
        assert_eq!(bare_name("language_model.lm_head.weight"), "lm_head.weight");
        let vision = "model.vision_tower.norm.weight";
        assert_eq!(bare_name(vision), vision);
    }
}
