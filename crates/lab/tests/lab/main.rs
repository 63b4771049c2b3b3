//! Labels, heads, training and pruning on models with a known boundary.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ops::ControlFlow;

use ken_eval::Fold;
use ken_lab::LearnOptions;
use ken_train::heads::{HeadOptions, Shape};

#[path = "../../../eval/tests/evaluation/fixture/mod.rs"]
mod fixture;
mod gate;
mod label_free;
mod labeling;
mod learning;
mod mastery;
mod pruning;
mod self_routing;

/// Learning of a head with this share of subjects held out.
const fn learn_options(shape: Shape, seed: u64, share: f64) -> LearnOptions {
    LearnOptions {
        head: HeadOptions { shape, seed },
        held_out: Fold { share, number: 0 },
    }
}

/// Never stops.
fn go_on(_: usize, _: usize) -> ControlFlow<()> {
    ControlFlow::Continue(())
}
