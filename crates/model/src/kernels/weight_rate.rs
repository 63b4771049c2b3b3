//! How fast this machine reads weights from memory. Every generated token needs all weights of a model once, so this
//! bounds the speed of generation.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::quantized::{Activations, BlockType, Operand, QuantizedMatrix, products};
use super::rows::Rows;

/// Total weights: more than caches hold.
const BYTES: usize = 256 << 20;
/// Weights per row, as in a model of 1.5 billion parameters.
const INPUTS: usize = 1536;

/// Bytes of 4-bit weights per second, multiplied with one row by all threads; measured for about the given time.
pub fn weight_rate(time: Duration) -> f64 {
    let block = BlockType::Q4K;
    let row_bytes = QuantizedMatrix::bytes(Some(block), 16, INPUTS) / 16;
    let outputs = BYTES / row_bytes;
    let Ok(matrix) = QuantizedMatrix::read(block, outputs, INPUTS, |_, rows: &mut [u8]| {
        rows.fill(0x31);
        Ok::<(), Infallible>(())
    });
    let matrices = [Arc::new(matrix)];
    let x = Operand::Integer(Activations::new(&Rows::new(vec![0.5; INPUTS], INPUTS)));
    let mut out = Rows::zeros(1, outputs);
    let started = Instant::now();
    let mut passes = 0;
    while passes == 0 || started.elapsed() < time {
        products(&matrices, &x, &mut out);
        passes += 1;
    }
    (passes * outputs * row_bytes) as f64 / started.elapsed().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_reads_some_weights() {
        assert!(weight_rate(Duration::ZERO) > 1e6);
    }
}
