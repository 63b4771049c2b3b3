//! The methods of a model that another one answers for it.

/// The methods of `LanguageModel` other than `generate` and `score`, answered by the model in a field.
macro_rules! delegated {
    ($model:tt) => {
        fn fingerprint(&self) -> &str {
            self.$model.fingerprint()
        }

        fn capabilities(&self) -> ken_language::Capabilities {
            self.$model.capabilities()
        }

        fn context_tokens(&self) -> usize {
            self.$model.context_tokens()
        }

        fn count_tokens(&self, text: &str) -> Result<usize, ModelError> {
            self.$model.count_tokens(text)
        }

        fn count_prompt_tokens(&self, prompt: &Prompt) -> Result<usize, ModelError> {
            self.$model.count_prompt_tokens(prompt)
        }

        fn hidden(&self, prompts: &[&Prompt], layer: usize) -> Result<Vec<Vec<f32>>, ModelError> {
            self.$model.hidden(prompts, layer)
        }
    };
}

pub(crate) use delegated;
