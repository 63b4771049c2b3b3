//! Encoding rows of f32 as the bytes of a stored type, and decoding them.

use half::f16;
use half::slice::{HalfBitsSliceExt, HalfFloatSliceExt};

use crate::dense::VectorType;

/// The largest magnitude of a code of one byte.
const LARGEST: f32 = 127.0;

impl VectorType {
    /// The length of a vector in bytes, saturating. A row of int8 starts with its scale, an f32.
    pub fn row_bytes(self, dimensions: usize) -> usize {
        match self {
            Self::F32 => dimensions.saturating_mul(size_of::<f32>()),
            Self::F16 => dimensions.saturating_mul(size_of::<f16>()),
            Self::Int8 => dimensions.saturating_add(size_of::<f32>()),
        }
    }

    /// Appends one vector to `bytes`.
    pub(super) fn encode(self, vector: &[f32], bytes: &mut Vec<u8>) {
        match self {
            Self::F32 => bytes.extend_from_slice(bytemuck::cast_slice(vector)),
            Self::F16 => bytes.extend(
                vector
                    .iter()
                    .flat_map(|&number| f16::from_f32(number).to_le_bytes()),
            ),
            Self::Int8 => {
                let start = bytes.len();
                bytes.resize(start + self.row_bytes(vector.len()), 0);
                let (scale, codes) = bytes[start..].split_at_mut(size_of::<f32>());
                let steps = quantize(vector, bytemuck::cast_slice_mut(codes));
                scale.copy_from_slice(&steps.to_le_bytes());
            }
        }
    }

    /// Decodes whole rows from `bytes` into `numbers`, which has the length of all of them.
    pub(super) fn decode(self, bytes: &[u8], dimensions: usize, numbers: &mut [f32]) {
        match self {
            Self::F32 => bytemuck::cast_slice_mut(numbers).copy_from_slice(bytes),
            Self::F16 => match bytemuck::try_cast_slice::<u8, u16>(bytes) {
                Ok(bits) => to_f32(bits, numbers),
                // At an odd address.
                Err(_) => to_f32(&bytemuck::pod_collect_to_vec::<u8, u16>(bytes), numbers),
            },
            Self::Int8 => {
                let rows = bytes.chunks_exact(self.row_bytes(dimensions));
                for (row, numbers) in rows.zip(numbers.chunks_exact_mut(dimensions)) {
                    let Some((scale, codes)) = row.split_first_chunk() else {
                        continue;
                    };
                    let scale = f32::from_le_bytes(*scale);
                    for (number, &code) in numbers.iter_mut().zip(codes) {
                        *number = f32::from(code.cast_signed()) * scale;
                    }
                }
            }
        }
    }
}

fn to_f32(bits: &[u16], numbers: &mut [f32]) {
    let halves: &[f16] = bits.reinterpret_cast();
    halves.convert_to_f32_slice(numbers);
}

/// Writes the codes of a vector, one byte a number, and returns the factor from codes to numbers.
/// Both are `[dimensions]`.
pub(in crate::dense) fn quantize(vector: &[f32], codes: &mut [i8]) -> f32 {
    let largest = vector.iter().fold(0.0f32, |most, x| most.max(x.abs()));
    if largest == 0.0 {
        codes.fill(0);
        return 0.0;
    }
    for (code, &number) in codes.iter_mut().zip(vector) {
        *code = (number / largest * LARGEST).round() as i8;
    }
    largest / LARGEST
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn round_trip(vector_type: VectorType, vector: &[f32]) -> Vec<f32> {
        let mut bytes = Vec::new();
        vector_type.encode(vector, &mut bytes);
        assert_eq!(bytes.len(), vector_type.row_bytes(vector.len()));
        let mut numbers = vec![f32::NAN; vector.len()];
        vector_type.decode(&bytes, vector.len(), &mut numbers);
        numbers
    }

    proptest! {
        #[test]
        fn what_is_read_is_near_what_was_written(
            vector in prop::collection::vec(-1.0f32..1.0, 1..50)
        ) {
            let largest = vector.iter().fold(0.0f32, |most, x| most.max(x.abs()));
            for (vector_type, error) in [
                (VectorType::F32, 0.0),
                (VectorType::F16, largest / 2048.0),
                (VectorType::Int8, largest / 253.0),
            ] {
                let read = round_trip(vector_type, &vector);
                for (read, written) in read.iter().zip(&vector) {
                    prop_assert!((read - written).abs() <= error, "{vector_type}: {read} {written}");
                }
            }
        }

        /// So that vectors can be copied from one segment into another.
        #[test]
        fn what_was_read_once_is_written_the_same_again(
            vector in prop::collection::vec(-1.0f32..1.0, 1..50)
        ) {
            for vector_type in VectorType::ALL {
                let once = round_trip(vector_type, &vector);
                let twice = round_trip(vector_type, &once);
                for (once, twice) in once.iter().zip(&twice) {
                    prop_assert!((once - twice).abs() <= f32::EPSILON * once.abs());
                }
            }
        }
    }

    #[test]
    fn no_length_gives_no_direction() {
        let mut codes = [1i8; 3];
        assert_eq!(quantize(&[0.0; 3], &mut codes), 0.0);
        assert_eq!(codes, [0; 3]);
    }

    #[test]
    fn half_numbers_are_read_at_any_address() {
        let mut bytes = vec![0u8];
        VectorType::F16.encode(&[0.5, -2.0], &mut bytes);
        for start in [0, 1] {
            let shifted = &bytes[1 - start..];
            let mut numbers = [0.0; 2];
            let moved: Vec<u8> = [&[0u8][..start], &shifted[start..]].concat();
            VectorType::F16.decode(&moved[start..], 2, &mut numbers);
            assert_eq!(numbers, [0.5, -2.0]);
        }
    }
}
