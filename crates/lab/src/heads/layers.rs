//! The layers after which a model's hidden states are taken.

use std::str::FromStr;

use ken_language::LanguageModel;

/// Most layers that `auto` tries for the keys of a datastore.
const KEY_LAYERS: usize = 6;

/// The choice of layers after which hidden states are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerChoice {
    /// Half of the layers.
    Middle,
    /// Several layers, of which the best is taken.
    Auto,
    /// This one.
    After(usize),
}

impl LayerChoice {
    /// The layers to try for a head: a quarter, half, three quarters and all of them for `Auto`.
    pub fn for_head(self, model: &dyn LanguageModel) -> Vec<usize> {
        self.or(model, |all| {
            (1..=4).map(|quarter| all * quarter / 4).collect()
        })
    }

    /// The layers to try for the keys of a datastore: for `Auto`, some of the middle half and the last one.
    pub fn for_keys(self, model: &dyn LanguageModel) -> Vec<usize> {
        self.or(model, |all| {
            let (first, last) = (all.div_ceil(4).max(1), (3 * all / 4).max(1));
            let step = (last.saturating_sub(first) + 1)
                .div_ceil(KEY_LAYERS - 1)
                .max(1);
            let mut layers: Vec<usize> = (first..=last).step_by(step).collect();
            layers.push(all);
            layers
        })
    }

    fn or(self, model: &dyn LanguageModel, auto: impl Fn(usize) -> Vec<usize>) -> Vec<usize> {
        // A model without hidden states reports that when asked for them.
        let all = model.capabilities().hidden_layers.unwrap_or(0);
        let mut layers = match self {
            Self::After(layer) => vec![layer],
            Self::Middle => vec![all / 2],
            Self::Auto => auto(all),
        };
        layers.dedup();
        layers
    }
}

impl FromStr for LayerChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "middle" => Ok(Self::Middle),
            "auto" => Ok(Self::Auto),
            number => number
                .parse()
                .map(Self::After)
                .map_err(|_| "middle, auto or a number of layers is expected".to_owned()),
        }
    }
}
