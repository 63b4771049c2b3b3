//! How the layers of a decoder attend, to all previous tokens or within a sliding window, and sets of layers.

/// The window of local layers.
#[derive(Debug, Clone, PartialEq)]
pub struct SlidingWindow {
    /// A token attends to at most this many tokens, itself included.
    pub tokens: usize,
    /// Which layers are local.
    pub layers: LayerSet,
    /// Base of the rotary frequencies of local layers, which are not stretched; `None` if they rotate as global
    /// layers do.
    pub rope_base: Option<f64>,
}

/// Some of the layers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LayerSet {
    /// All layers.
    All,
    /// The layers from this one on, counted from 0.
    From(usize),
    /// All but every n-th layer: with 6, the sixth is the first exception. At least 1.
    AllButEvery(usize),
    /// The layers whose entry is true, one entry per layer.
    Listed(Vec<bool>),
}

impl LayerSet {
    /// Whether it contains a layer, counted from 0.
    pub(in crate::decoder) fn contain(&self, layer: usize) -> bool {
        match self {
            Self::All => true,
            Self::From(first) => layer >= *first,
            Self::AllButEvery(period) => !(layer + 1).is_multiple_of(*period),
            Self::Listed(listed) => listed.get(layer).is_some_and(|&is_in| is_in),
        }
    }

    /// What is wrong with it in a decoder of this many layers.
    pub(super) fn fault(&self, layers: usize) -> Option<String> {
        match self {
            Self::AllButEvery(0) => Some("every 0th layer is to be another".to_owned()),
            Self::Listed(listed) if listed.len() != layers => Some(format!(
                "the kinds of {} layers are given, and it has {layers}",
                listed.len()
            )),
            _ => None,
        }
    }
}

impl SlidingWindow {
    /// What is wrong with it in a decoder of this many layers.
    pub(super) fn fault(&self, layers: usize) -> Option<String> {
        match self.tokens {
            0 => Some("a sliding window of 0 tokens".to_owned()),
            _ => self.layers.fault(layers),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_names_its_layers() {
        let of = |layers: &LayerSet| -> Vec<usize> {
            (0..7).filter(|&layer| layers.contain(layer)).collect()
        };
        assert_eq!(of(&LayerSet::All), [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(of(&LayerSet::From(5)), [5, 6]);
        assert_eq!(of(&LayerSet::AllButEvery(3)), [0, 1, 3, 4, 6]);
        assert!(of(&LayerSet::AllButEvery(1)).is_empty());
        assert_eq!(of(&LayerSet::Listed(vec![false, true])), [1]);
    }
}
