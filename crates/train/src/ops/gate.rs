//! The gated activation of the feed-forward layer.

use candle_core::{CpuStorage, CustomOp2, Layout, Result, Shape, Tensor};
use ken_model::kernels::sigmoid;
use rayon::prelude::*;

use super::memory::{gradient_of, is_slice, returned, slice, with_slices};

/// `silu(gate) * up`.
///
/// # Shapes
/// `gate`, `up`: `[rows, width]`; returns the same.
pub(crate) fn gate(gate: &Tensor, up: &Tensor) -> Result<Tensor> {
    if is_slice(gate) {
        gate.contiguous()?.apply_op2(&up.contiguous()?, Gate)
    } else {
        gate.silu()?.mul(up)
    }
}

/// Numbers per parallel task.
const TASK: usize = 1 << 13;

struct Gate;

impl CustomOp2 for Gate {
    fn name(&self) -> &'static str {
        "gated silu"
    }

    fn cpu_fwd(
        &self,
        gate: &CpuStorage,
        gate_layout: &Layout,
        up: &CpuStorage,
        up_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (gate, up) = (slice(gate, gate_layout)?, slice(up, up_layout)?);
        let mut out = vec![0.0; gate.len()];
        out.par_chunks_mut(TASK)
            .zip(gate.par_chunks(TASK))
            .zip(up.par_chunks(TASK))
            .for_each(|((out, gate), up)| {
                widest!({
                    for ((out, &gate), &up) in out.iter_mut().zip(gate).zip(up) {
                        *out = gate * sigmoid(gate) * up;
                    }
                });
            });
        Ok(returned(out, gate_layout.shape()))
    }

    /// With `s = sigmoid(gate)`: `dgate = g up s (1 + gate (1 - s))`, `dup = g gate s`.
    fn bwd(
        &self,
        gate: &Tensor,
        up: &Tensor,
        _: &Tensor,
        gradient: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let mut to_gate = vec![0.0; gate.elem_count()];
        let mut to_up = vec![0.0; gate.elem_count()];
        with_slices([gate, up, gradient], |[gate, up, gradient]| {
            to_gate
                .par_chunks_mut(TASK)
                .zip(to_up.par_chunks_mut(TASK))
                .zip(gate.par_chunks(TASK).zip(up.par_chunks(TASK)))
                .zip(gradient.par_chunks(TASK))
                .for_each(|(((to_gate, to_up), (gate, up)), gradient)| {
                    widest!({
                        let out = to_gate.iter_mut().zip(to_up);
                        let given = gate.iter().zip(up).zip(gradient);
                        for ((to_gate, to_up), ((&gate, &up), &g)) in out.zip(given) {
                            let s = sigmoid(gate);
                            *to_gate = g * up * s * (1.0 + gate * (1.0 - s));
                            *to_up = g * gate * s;
                        }
                    });
                });
            Ok(())
        })?;
        Ok((gradient_of(gate, to_gate)?, gradient_of(up, to_up)?))
    }
}
