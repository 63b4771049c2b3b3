//! Measures the steps of a forward pass one by one, on one thread. Each runs for less than a time slice, and the best
//! of many runs counts, so that other work on the machine hardly shows.
//!
//! `RAYON_NUM_THREADS=1 cargo test --release -p ken-model --lib measurement:: -- --ignored --nocapture`

use std::convert::Infallible;
use std::hint::black_box;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::attention::{self, HeadCache, Keys, Query, Scratch};
use super::elementwise::{gated_silu, gelu};
use super::matrix::{Arithmetic, Matrix, WeightFormat};
use super::quantized::{Activations, BlockType, Operand, QuantizedMatrix, products};
use super::rows::Rows;

fn best(mut step: impl FnMut()) -> Duration {
    let times = (0..200).map(|_| {
        let started = Instant::now();
        step();
        started.elapsed()
    });
    times.min().unwrap_or_default()
}

fn numbers(count: usize) -> Vec<f32> {
    let mut state = 7;
    let number = |_| (ken_random::unit(&mut state) * 2.0 - 1.0) as f32;
    (0..count).map(number).collect()
}

/// Operations per second.
fn billions(operations: usize, time: Duration) -> f64 {
    operations as f64 / time.as_secs_f64() / 1e9
}

/// A matrix of equal bytes.
fn of_ones(block: BlockType, outputs: usize, inputs: usize) -> Arc<QuantizedMatrix> {
    let read = |_: Range<usize>, rows: &mut [u8]| {
        rows.fill(0x31);
        Ok::<(), Infallible>(())
    };
    let Ok(matrix) = QuantizedMatrix::read(block, outputs, inputs, read);
    Arc::new(matrix)
}

#[test]
#[ignore = "measures"]
fn one_row_by_weights_out_of_memory() {
    let bytes = 256 << 20;
    println!("GB of weights a second, one row; exactly, in integers");
    for block in [
        BlockType::Q4_0,
        BlockType::Q4_1,
        BlockType::Q4K,
        BlockType::Q5_0,
        BlockType::Q5K,
        BlockType::Q6K,
        BlockType::Q8_0,
    ] {
        let inputs = 1536;
        let outputs = bytes / QuantizedMatrix::bytes(Some(block), 16, inputs) * 16;
        let matrices = [of_ones(block, outputs, inputs)];
        let bytes = QuantizedMatrix::bytes(Some(block), outputs, inputs);
        let x = Rows::new(numbers(inputs), inputs);
        let mut out = Rows::zeros(1, outputs);
        let rates = [Operand::Exact(&x), Operand::Integer(Activations::new(&x))]
            .map(|x| billions(bytes, best(|| products(&matrices, &x, &mut out))));
        println!("{block:?}: {:.1}, {:.1}", rates[0], rates[1]);
    }
}

#[test]
#[ignore = "measures"]
fn products_with_weights_of_every_type() {
    let (outputs, inputs) = (1024, 1536);
    println!("billions of multiplications per second with 1, 16 and 64 rows; bits of a weight");
    for block in [
        BlockType::Q4_0,
        BlockType::Q4_1,
        BlockType::Q4K,
        BlockType::Q5K,
        BlockType::Q6K,
        BlockType::Q8_0,
    ] {
        let matrices = [of_ones(block, outputs, inputs)];
        let bits = 8 * QuantizedMatrix::bytes(Some(block), outputs, inputs);
        let bits = bits as f64 / (outputs * inputs) as f64;
        for name in ["exact", "integer"] {
            let rates = [1, 16, 64].map(|rows| {
                let x = Rows::new(numbers(rows * inputs), inputs);
                let operand = match name {
                    "exact" => Operand::Exact(&x),
                    _ => Operand::Integer(Activations::new(&x)),
                };
                let mut out = Rows::zeros(rows, outputs);
                let time = best(|| products(&matrices, &operand, &mut out));
                format!("{:.0}", billions(rows * outputs * inputs, time))
            });
            println!("{block:?} {name}: {}; {bits:.3}", rates.join(", "));
        }
    }
}

#[test]
#[ignore = "measures"]
fn steps_of_a_layer() {
    // The shapes of MiniLM and of a decoder of 135 million parameters.
    for (name, width, heads, key_heads, feed_forward, gates, tokens) in [
        ("encoder, 128 tokens", 32, 12, 12, 1536, 1, 128),
        ("decoder, 128 tokens", 64, 9, 3, 1536, 2, 128),
    ] {
        let hidden = heads * width;
        let projected_width = (heads + 2 * key_heads) * width;
        let x = Rows::new(numbers(tokens * hidden), hidden);
        let wide = Rows::new(numbers(tokens * feed_forward), feed_forward);
        for format in [WeightFormat::F32, WeightFormat::Int8] {
            let mut total = Duration::ZERO;
            for (outputs, x) in [
                (projected_width, &x),
                (hidden, &x),
                (gates * feed_forward, &x),
                (hidden, &wide),
            ] {
                let weights = numbers(outputs * x.width);
                let matrix = Matrix::new(&weights, outputs, x.width, format);
                total += best(|| drop(black_box(matrix.product(x, Arithmetic::Integer))));
            }
            println!("{name}: products in {format:?} {} µs", total.as_micros());
        }
        let quantizing = best(|| drop(black_box(Activations::new(&x)))) * 3
            + best(|| drop(black_box(Activations::new(&wide))));
        let mut out = wide.clone();
        let gate_and_up = numbers(tokens * 2 * feed_forward);
        let activation = best(|| match gates {
            1 => gelu(&mut out.numbers),
            _ => {
                let rows = gate_and_up.chunks(2 * feed_forward);
                for (row, out) in rows.zip(out.numbers.chunks_mut(feed_forward)) {
                    gated_silu(row, out);
                }
            }
        });
        let projected = Rows::new(numbers(tokens * projected_width), projected_width);
        let attended = attention_of(&projected, heads, key_heads, width, gates == 2);
        let [quantizing, activation, attended] =
            [quantizing, activation, attended].map(|time| time.as_micros());
        println!(
            "{name}: quantizing {quantizing} µs, activation {activation} µs, attention {attended} µs"
        );
    }
}

fn attention_of(
    projected: &Rows,
    heads: usize,
    key_heads: usize,
    width: usize,
    causal: bool,
) -> Duration {
    let tokens = projected.count();
    let group = heads / key_heads;
    let mut cache = HeadCache::new(width, tokens);
    for token in 0..tokens {
        let row = projected.row(token);
        let (key, value) = (heads * width, (heads + key_heads) * width);
        cache.write(token, &row[key..][..width], &row[value..][..width]);
    }
    let queries: Vec<Query<'_>> = (0..tokens * group)
        .map(|index| Query {
            numbers: &projected.row(index / group)[index % group * width..][..width],
            out: index * width,
            from: 0,
            to: if causal { index / group + 1 } else { tokens },
            gains: &[],
        })
        .collect();
    let keys = [Keys {
        cache: &cache,
        offset: 0,
        length: tokens,
    }];
    let (mut scratch, mut out) = (Scratch::default(), vec![0.0; queries.len() * width]);
    let of_key_head = best(|| {
        for queries in queries.chunks(48) {
            attention::attend(queries, &keys, 0.125, width, &mut scratch, &mut out);
        }
    });
    of_key_head * key_heads as u32
}
