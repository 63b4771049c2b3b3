//! Writes a tiny decoder as a Hugging Face folder.

use std::collections::BTreeMap;
use std::path::Path;

use safetensors::tensor::{Dtype, TensorView};
use serde_json::{Value, json};

use super::checkpoint::{Tensors, Tiny};
use super::vocabulary;

/// How the safetensors are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    F32,
    F16,
    BF16,
    /// F32 in two files and an index.
    Sharded,
}

/// Writes all files and returns the weights as they read back.
pub(super) fn write(tiny: &Tiny, layout: Layout, dir: &Path) -> Tensors {
    write_json(&dir.join("config.json"), &tiny.config());
    write_json(&dir.join("tokenizer.json"), &vocabulary::tokenizer_json());
    write_json(
        &dir.join("tokenizer_config.json"),
        &vocabulary::tokenizer_config(),
    );
    let mut tensors = tiny.weights();
    for (_, numbers) in tensors.values_mut() {
        for number in numbers {
            *number = match layout {
                Layout::F32 | Layout::Sharded => *number,
                Layout::F16 => half::f16::from_f32(*number).to_f32(),
                Layout::BF16 => half::bf16::from_f32(*number).to_f32(),
            };
        }
    }
    if layout == Layout::Sharded {
        let mut shards = [Tensors::new(), Tensors::new()];
        let mut map = serde_json::Map::new();
        for (place, (name, tensor)) in tensors.iter().enumerate() {
            shards[place % 2].insert(name.clone(), tensor.clone());
            map.insert(name.clone(), json!(shard_name(place % 2)));
        }
        for (place, shard) in shards.iter().enumerate() {
            write_tensors(&dir.join(shard_name(place)), shard, layout);
        }
        write_json(
            &dir.join("model.safetensors.index.json"),
            &json!({"weight_map": map}),
        );
    } else {
        write_tensors(&dir.join("model.safetensors"), &tensors, layout);
    }
    tensors
}

pub(super) fn shard_name(place: usize) -> String {
    format!("model-0000{}-of-00002.safetensors", place + 1)
}

pub(crate) fn write_json(path: &Path, value: &Value) {
    std::fs::write(path, value.to_string()).unwrap();
}

pub(crate) fn write_tensors(path: &Path, tensors: &Tensors, layout: Layout) {
    let (dtype, bytes): (Dtype, fn(&f32) -> Vec<u8>) = match layout {
        Layout::F32 | Layout::Sharded => (Dtype::F32, |n| n.to_le_bytes().to_vec()),
        Layout::F16 => (Dtype::F16, |n| {
            half::f16::from_f32(*n).to_le_bytes().to_vec()
        }),
        Layout::BF16 => (Dtype::BF16, |n| {
            half::bf16::from_f32(*n).to_le_bytes().to_vec()
        }),
    };
    let data: BTreeMap<&String, (&Vec<usize>, Vec<u8>)> = tensors
        .iter()
        .map(|(name, (shape, numbers))| (name, (shape, numbers.iter().flat_map(bytes).collect())))
        .collect();
    let views = data.iter().map(|(name, (shape, data))| {
        (
            name,
            TensorView::new(dtype, (*shape).clone(), data).unwrap(),
        )
    });
    std::fs::write(path, safetensors::serialize(views, None).unwrap()).unwrap();
}
