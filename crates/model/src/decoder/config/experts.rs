//! Feed-forward layers of many experts, a few of which each token uses.

/// The experts of a decoder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Experts {
    /// Experts per layer.
    pub count: usize,
    /// How many of them each token uses.
    pub used: usize,
    /// Width of the feed-forward layer of an expert.
    pub intermediate: usize,
    /// Whether the weights of the experts that a token uses sum up to 1.
    pub normalized: bool,
    /// Every n-th layer has experts: with 1, all. At least 1.
    pub every: usize,
    /// Layers, counted from 0, with one feed-forward layer for all tokens instead.
    pub dense: Vec<usize>,
}

/// No layer has more experts.
const MOST_EXPERTS: usize = 1 << 12;

impl Experts {
    /// Whether a layer, counted from 0, has experts.
    pub(in crate::decoder) fn are_in(&self, layer: usize) -> bool {
        (layer + 1).is_multiple_of(self.every) && !self.dense.contains(&layer)
    }

    /// What is wrong with them.
    pub(super) fn fault(&self) -> Option<String> {
        let Self { count, used, .. } = self;
        if *count > MOST_EXPERTS {
            Some(format!("{count} experts are beyond reason"))
        } else if *used == 0 || used > count {
            Some(format!("{used} of {count} experts cannot be used"))
        } else if self.every == 0 {
            Some("every 0th layer is to have experts".to_owned())
        } else {
            None
        }
    }

    /// A text for fingerprints, which must not change between versions of ken.
    pub(super) fn told(&self) -> String {
        let Self {
            count,
            used,
            intermediate,
            normalized,
            every,
            dense,
        } = self;
        format!(" experts {count} {used} {intermediate} {normalized} {every} {dense:?}")
    }
}

#[cfg(test)]
mod tests {
    use ken_testing::with;

    use super::*;

    #[test]
    fn layers_with_experts_are_told_from_others() {
        let experts = Experts {
            count: 4,
            used: 2,
            intermediate: 8,
            normalized: true,
            every: 2,
            dense: vec![3],
        };
        let found: Vec<usize> = (0..8).filter(|&layer| experts.are_in(layer)).collect();
        assert_eq!(found, [1, 5, 7]);
        assert_eq!(experts.fault(), None);
        for (count, used, every) in [(4, 5, 1), (4, 0, 1), (4, 2, 0), (usize::MAX, 2, 1)] {
            let experts = with!(experts.clone(), count: count, used: used, every: every);
            assert!(experts.fault().is_some());
        }
    }
}
