//! Vectors in the types of numbers that collections have.
//!
//! Codes of one byte are steps of a 127th of the vector's largest number. Such collections compare by the cosine, for
//! which lengths do not matter, so no scale is kept.

use half::f16;
use ken_index::VectorType;
use milvus::v2::prelude::{DataType, FieldData, MetricType, ResultValue, SearchVectors};

/// The largest magnitude of a code of one byte.
const LARGEST: f32 = 127.0;

/// The type of a field of vectors.
pub(crate) fn data_type(numbers: VectorType) -> DataType {
    match numbers {
        VectorType::F32 => DataType::FloatVector,
        VectorType::F16 => DataType::Float16Vector,
        VectorType::Int8 => DataType::Int8Vector,
    }
}

/// How vectors are compared. The inner product is the cosine of normalized vectors, which codes are not.
pub(crate) fn metric(numbers: VectorType) -> MetricType {
    match numbers {
        VectorType::F32 | VectorType::F16 => MetricType::Ip,
        VectorType::Int8 => MetricType::Cosine,
    }
}

/// A column of vectors.
pub(crate) fn column(numbers: VectorType, name: &str, vectors: Vec<Vec<f32>>) -> FieldData {
    let name = name.to_owned();
    match numbers {
        VectorType::F32 => FieldData::FloatVector {
            name,
            values: vectors,
        },
        VectorType::F16 => FieldData::Float16Vector {
            name,
            values: vectors.iter().map(|vector| halves(vector)).collect(),
        },
        VectorType::Int8 => FieldData::Int8Vector {
            name,
            values: vectors.iter().map(|vector| codes(vector)).collect(),
        },
    }
}

/// The vectors of queries.
pub(crate) fn queries(numbers: VectorType, vectors: &[&[f32]]) -> SearchVectors {
    let vectors = vectors.iter();
    match numbers {
        VectorType::F32 => SearchVectors::Float(vectors.map(|vector| vector.to_vec()).collect()),
        VectorType::F16 => SearchVectors::Float16(vectors.map(|vector| halves(vector)).collect()),
        VectorType::Int8 => SearchVectors::Int8(vectors.map(|vector| codes(vector)).collect()),
    }
}

/// The vector in a row; `None` if the value is none.
pub(crate) fn vector(value: ResultValue<'_>) -> Option<Vec<f32>> {
    match value {
        ResultValue::FloatVector(vector) => Some(vector.to_vec()),
        ResultValue::Float16Vector(bits) => {
            let numbers = bits.iter().map(|bits| f16::from_bits(*bits).to_f32());
            Some(numbers.collect())
        }
        ResultValue::Int8Vector(codes) => {
            let numbers: Vec<f32> = codes.iter().map(|code| f32::from(*code)).collect();
            let length = numbers.iter().map(|n| n * n).sum::<f32>().sqrt();
            let length = length.max(f32::MIN_POSITIVE);
            Some(numbers.iter().map(|number| number / length).collect())
        }
        _ => None,
    }
}

fn halves(vector: &[f32]) -> Vec<u16> {
    let halves = vector.iter().map(|number| f16::from_f32(*number));
    halves.map(f16::to_bits).collect()
}

fn codes(vector: &[f32]) -> Vec<i8> {
    let largest = vector.iter().fold(0.0_f32, |most, n| most.max(n.abs()));
    let steps = LARGEST / largest.max(f32::MIN_POSITIVE);
    let codes = vector.iter().map(|number| (number * steps).round() as i8);
    codes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first vector of a column, as a row would have it.
    fn stored(column: &FieldData) -> Vec<f32> {
        let value = match column {
            FieldData::FloatVector { values, .. } => ResultValue::FloatVector(&values[0]),
            FieldData::Float16Vector { values, .. } => ResultValue::Float16Vector(&values[0]),
            FieldData::Int8Vector { values, .. } => ResultValue::Int8Vector(&values[0]),
            other => panic!("{other:?}"),
        };
        vector(value).unwrap()
    }

    #[test]
    fn vectors_are_read_back_as_precisely_as_their_type_allows() {
        let given = vec![0.6_f32, -0.64, 0.0, 0.48];
        for (numbers, off) in [
            (VectorType::F32, 0.0),
            (VectorType::F16, 0.0005),
            (VectorType::Int8, 0.006),
        ] {
            let read = stored(&column(numbers, "vector", vec![given.clone()]));
            for (read, given) in read.iter().zip(&given) {
                assert!((read - given).abs() <= off, "{numbers}: {read} of {given}");
            }
            // A row that is read and sent again stays as it is.
            let again = column(numbers, "vector", vec![read]);
            assert_eq!(again, column(numbers, "vector", vec![given.clone()]));
        }
    }

    #[test]
    fn codes_span_the_byte() {
        assert_eq!(codes(&[0.05, -0.2, 0.0]), [32, -127, 0]);
        assert_eq!(codes(&[0.0, 0.0]), [0, 0]);
        assert_eq!(
            queries(VectorType::F32, &[&[1.0], &[0.5]]),
            SearchVectors::Float(vec![vec![1.0], vec![0.5]])
        );
    }
}
