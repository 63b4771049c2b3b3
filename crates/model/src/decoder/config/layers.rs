//! How the layers of a decoder attend: to all tokens before, or within a sliding window.

/// How a layer attends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerKind {
    /// To all tokens before.
    Global,
    /// Within the sliding window.
    Local,
}

/// The window of local layers.
#[derive(Debug, Clone, PartialEq)]
pub struct SlidingWindow {
    /// A token attends to at most this many tokens, itself included.
    pub tokens: usize,
    /// Which layers are local.
    pub layers: LocalLayers,
    /// Base of the rotary frequencies of local layers, which are not stretched; `None` where they turn
    /// as in global layers.
    pub rope_base: Option<f64>,
}

/// Which layers are local; the others are global.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LocalLayers {
    /// All.
    All,
    /// Those from this one on, counted from 0.
    From(usize),
    /// All but every n-th: with 6, the sixth is the first global layer. At least 1.
    AllButEvery(usize),
    /// Those for which this says so, one entry a layer.
    Listed(Vec<bool>),
}

impl LocalLayers {
    /// Whether a layer, counted from 0, is local.
    pub(super) fn contain(&self, layer: usize) -> bool {
        match self {
            Self::All => true,
            Self::From(first) => layer >= *first,
            Self::AllButEvery(period) => !(layer + 1).is_multiple_of(*period),
            Self::Listed(listed) => listed.get(layer).is_some_and(|&local| local),
        }
    }
}

impl SlidingWindow {
    /// What is wrong with it in a decoder of so many layers.
    pub(super) fn fault(&self, layers: usize) -> Option<String> {
        match &self.layers {
            _ if self.tokens == 0 => Some("a sliding window of 0 tokens".to_owned()),
            LocalLayers::AllButEvery(0) => Some("every 0th layer is to be global".to_owned()),
            LocalLayers::Listed(listed) if listed.len() != layers => Some(format!(
                "the kinds of {} layers are given, and it has {layers}",
                listed.len()
            )),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_names_its_layers() {
        let local = |layers: &LocalLayers| -> Vec<usize> {
            (0..7).filter(|&layer| layers.contain(layer)).collect()
        };
        assert_eq!(local(&LocalLayers::All), [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(local(&LocalLayers::From(5)), [5, 6]);
        assert_eq!(local(&LocalLayers::AllButEvery(3)), [0, 1, 3, 4, 6]);
        assert!(local(&LocalLayers::AllButEvery(1)).is_empty());
        assert_eq!(local(&LocalLayers::Listed(vec![false, true])), [1]);
    }
}
