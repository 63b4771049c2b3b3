//! Every type of blocks and every instruction set, compared with candle's dequantization and the product by its
//! definition.

use std::sync::Arc;

use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Tensor};
use proptest::prelude::*;

use super::*;

const TYPES: [(BlockType, GgmlDType); 8] = [
    (BlockType::Q4_0, GgmlDType::Q4_0),
    (BlockType::Q4_1, GgmlDType::Q4_1),
    (BlockType::Q5_0, GgmlDType::Q5_0),
    (BlockType::Q5_1, GgmlDType::Q5_1),
    (BlockType::Q8_0, GgmlDType::Q8_0),
    (BlockType::Q4K, GgmlDType::Q4K),
    (BlockType::Q5K, GgmlDType::Q5K),
    (BlockType::Q6K, GgmlDType::Q6K),
];

const SETS: [InstructionSet; 5] = [
    InstructionSet::Avx512Vnni,
    InstructionSet::AvxVnni,
    InstructionSet::Avx2,
    InstructionSet::NeonDotprod,
    InstructionSet::Plain,
];

fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let number = |_| (ken_random::unit(&mut state) * 4.0 - 2.0) as f32;
    (0..count).map(number).collect()
}

/// A matrix of a type, and its weights as candle dequantizes them.
fn matrix(
    (block, dtype): (BlockType, GgmlDType),
    outputs: usize,
    inputs: usize,
    seed: u64,
) -> (Arc<QuantizedMatrix>, Vec<f32>) {
    let shape = (outputs, inputs);
    let weights = Tensor::from_vec(numbers(outputs * inputs, seed), shape, &Device::Cpu).unwrap();
    stored_matrix((block, dtype), &weights)
}

fn stored_matrix(
    (block, dtype): (BlockType, GgmlDType),
    weights: &Tensor,
) -> (Arc<QuantizedMatrix>, Vec<f32>) {
    let (outputs, inputs) = weights.dims2().unwrap();
    let stored = QTensor::quantize(weights, dtype).unwrap();
    let back = stored.dequantize(&Device::Cpu).unwrap();
    let data = stored.data().unwrap();
    let row_bytes = data.len() / outputs;
    let matrix = QuantizedMatrix::read(block, outputs, inputs, |rows, room| {
        room.copy_from_slice(&data[rows.start * row_bytes..rows.end * row_bytes]);
        Ok::<(), std::convert::Infallible>(())
    });
    (
        Arc::new(matrix.unwrap()),
        back.flatten_all().unwrap().to_vec1().unwrap(),
    )
}

fn product(
    matrix: &Arc<QuantizedMatrix>,
    set: InstructionSet,
    x: &Operand<'_>,
    rows: usize,
) -> Rows {
    let mut out = Rows::zeros(rows, matrix.outputs());
    products_with(set, &[matrix], x, &mut out);
    out
}

/// The product by its definition, in 64 bits.
fn defined(weights: &[f32], x: &[f32], inputs: usize) -> Vec<f64> {
    let output = |weights: &[f32], x: &[f32]| {
        weights
            .iter()
            .zip(x)
            .map(|(&w, &x)| f64::from(w) * f64::from(x))
            .sum()
    };
    x.chunks(inputs)
        .flat_map(|x| {
            weights
                .chunks(inputs)
                .map(move |weights| output(weights, x))
        })
        .collect()
}

#[test]
fn every_type_holds_the_weights_that_candle_reads() {
    for kind in TYPES {
        let (matrix, weights) = matrix(kind, 21, 512, 1);
        for (output, expected) in weights.chunks(512).enumerate() {
            let mut row = vec![0.0; 512];
            matrix.dequantize(output, &mut row);
            assert_eq!(row, expected, "{kind:?}");
        }
    }
}

/// Their scales are among the least that 16 bits can represent.
#[test]
fn tiny_weights_are_read_alike_by_all_instruction_sets() {
    let weights = numbers(20 * 512, 2).into_iter().map(|x| x * 1e-5).collect();
    let weights = Tensor::from_vec(weights, (20, 512), &Device::Cpu).unwrap();
    let x = Rows::new(numbers(512, 3), 512);
    for kind in TYPES {
        let (matrix, back) = stored_matrix(kind, &weights);
        let mut row = vec![0.0; 512];
        matrix.dequantize(19, &mut row);
        assert_eq!(row, back[19 * 512..], "{kind:?}");
        for set in SETS.into_iter().filter(|set| set.is_available()) {
            for x in [Operand::Exact(&x), Operand::Integer(Activations::new(&x))] {
                let plain = product(&matrix, InstructionSet::Plain, &x, 1).numbers;
                assert_eq!(
                    product(&matrix, set, &x, 1).numbers,
                    plain,
                    "{kind:?} {set}"
                );
            }
        }
    }
}

#[test]
fn weights_that_cannot_be_read_are_an_error() {
    let read = |rows: Range<usize>, _: &mut [u8]| match rows.contains(&70) {
        true => Err("gone"),
        false => Ok(()),
    };
    for block in [BlockType::Q4_0, BlockType::Q4K] {
        let error = QuantizedMatrix::read(block, 100, 256, read).err();
        assert_eq!(error, Some("gone"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn all_instruction_sets_give_the_same_bits_in_any_batch(
        (rows, outputs, blocks) in (1usize..40, 1usize..70, 1usize..6),
        kind in prop::sample::select(TYPES.to_vec()),
        seed in any::<u64>(),
    ) {
        let inputs = blocks * kind.0.inputs();
        let (matrix, weights) = matrix(kind, outputs, inputs, seed);
        let x = Rows::new(numbers(rows * inputs, seed ^ 1), inputs);
        let exact = product(&matrix, InstructionSet::Plain, &Operand::Exact(&x), rows);
        let integer = Operand::Integer(Activations::new(&x));
        let in_integers = product(&matrix, InstructionSet::Plain, &integer, rows);
        for set in SETS.into_iter().filter(|set| set.is_available()) {
            let same = product(&matrix, set, &Operand::Exact(&x), rows);
            prop_assert_eq!(&same.numbers, &exact.numbers, "{} exactly", set);
            let same = product(&matrix, set, &integer, rows);
            prop_assert_eq!(&same.numbers, &in_integers.numbers, "{} in integers", set);
        }
        for row in 0..rows {
            let alone = x.select(&[row]);
            let in_eights = Operand::Integer(Activations::new(&alone));
            for set in SETS.into_iter().filter(|set| set.is_available()) {
                let single = product(&matrix, set, &Operand::Exact(&alone), 1);
                prop_assert_eq!(single.row(0), exact.row(row), "{} exactly", set);
                let single = product(&matrix, set, &in_eights, 1);
                prop_assert_eq!(single.row(0), in_integers.row(row), "{} in integers", set);
            }
        }
        // Weights are at most 2.2, activations 2; these have steps of 2 / 127.
        let (slip, step) = (2e-6 * inputs as f64, 0.5 * 2.2 * 2.0 / 127.0 * inputs as f64);
        for (place, defined) in defined(&weights, &x.numbers, inputs).into_iter().enumerate() {
            prop_assert!((f64::from(exact.numbers[place]) - defined).abs() <= slip);
            prop_assert!((f64::from(in_integers.numbers[place]) - defined).abs() <= step);
        }
    }

    #[test]
    fn weights_in_floats_are_rounded_by_half_a_step_at_most(
        (rows, outputs, inputs) in (1usize..10, 1usize..40, 1usize..100),
        seed in any::<u64>(),
    ) {
        let weights = numbers(outputs * inputs, seed);
        let matrix = Arc::new(QuantizedMatrix::from_floats(&weights, outputs, inputs));
        let mut back = vec![0.0; outputs * inputs];
        for (output, back) in back.chunks_mut(inputs).enumerate() {
            matrix.dequantize(output, back);
        }
        for (weight, back) in weights.iter().zip(&back) {
            prop_assert!((weight - back).abs() <= 0.501 * 2.0 / 127.0);
        }
        let x = Rows::new(numbers(rows * inputs, seed ^ 1), inputs);
        let exact = product(&matrix, InstructionSet::detected(), &Operand::Exact(&x), rows);
        for (product, defined) in exact.numbers.iter().zip(defined(&back, &x.numbers, inputs)) {
            prop_assert!((f64::from(*product) - defined).abs() <= 1e-4);
        }
        for row in 0..rows {
            let alone = x.select(&[row]);
            for set in SETS.into_iter().filter(|set| set.is_available()) {
                let single = product(&matrix, set, &Operand::Exact(&alone), 1);
                prop_assert_eq!(single.row(0), exact.row(row), "{}", set);
            }
        }
        let integer = Operand::Integer(Activations::new(&x));
        let near = product(&matrix, InstructionSet::detected(), &integer, rows);
        let plain = product(&matrix, InstructionSet::Plain, &integer, rows);
        prop_assert_eq!(&near.numbers, &plain.numbers);
        for (near, exact) in near.numbers.iter().zip(&exact.numbers) {
            prop_assert!((near - exact).abs() <= 0.51 * 2.0 / 127.0 * 2.0 * inputs as f32);
        }
    }

    #[test]
    fn matrices_of_all_types_stand_side_by_side(
        (rows, blocks) in (1usize..5, 1usize..3),
        sizes in prop::collection::vec(0usize..40, TYPES.len()),
        seed in any::<u64>(),
    ) {
        let inputs = blocks * 256;
        let of_size = |(kind, &outputs)| matrix(kind, outputs, inputs, seed).0;
        let matrices: Vec<_> = TYPES.into_iter().zip(&sizes).filter(|(_, size)| **size > 0).map(of_size).collect();
        let x = Operand::Integer(Activations::new(&Rows::new(numbers(rows * inputs, 4), inputs)));
        let mut out = Rows::zeros(rows, sizes.iter().sum::<usize>().max(1));
        products(&matrices, &x, &mut out);
        let mut column = 0;
        for matrix in &matrices {
            let alone = product(matrix, InstructionSet::detected(), &x, rows);
            for row in 0..rows {
                prop_assert_eq!(&out.row(row)[column..][..matrix.outputs()], alone.row(row));
            }
            column += matrix.outputs();
        }
    }
}
