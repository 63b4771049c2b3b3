//! Writes GGUF, version 3: header, metadata, the list of tensors, and their data one after another.

use std::fs::File;
use std::io::{BufWriter, Result, Write};
use std::path::Path;

use super::weights::Stored;

/// Every tensor begins at a multiple of this.
const ALIGNMENT: usize = 32;

/// A value of the metadata.
pub(super) enum Value {
    U32(u32),
    F32(f32),
    Bool(bool),
    Text(String),
    Texts(Vec<String>),
    I32s(Vec<i32>),
}

impl Value {
    pub(super) fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// A tensor.
pub(super) struct Entry {
    pub(super) name: String,
    /// Columns first.
    pub(super) shape: Vec<usize>,
    pub(super) stored: Stored,
}

impl Entry {
    pub(super) fn bytes(&self) -> usize {
        self.stored.bytes(self.shape.iter().product())
    }
}

/// Writes a file.
pub(super) fn write(path: &Path, metadata: &[(&str, Value)], tensors: &[Entry]) -> Result<()> {
    let mut header = b"GGUF".to_vec();
    header.extend(3u32.to_le_bytes());
    header.extend((tensors.len() as u64).to_le_bytes());
    header.extend((metadata.len() as u64).to_le_bytes());
    for (key, value) in metadata {
        put_text(&mut header, key);
        put_value(&mut header, value);
    }
    let mut place = 0;
    for tensor in tensors {
        put_text(&mut header, &tensor.name);
        header.extend((tensor.shape.len() as u32).to_le_bytes());
        for &size in &tensor.shape {
            header.extend((size as u64).to_le_bytes());
        }
        header.extend(tensor.stored.type_number().to_le_bytes());
        header.extend((place as u64).to_le_bytes());
        place += tensor.bytes().next_multiple_of(ALIGNMENT);
    }
    header.resize(header.len().next_multiple_of(ALIGNMENT), 0);
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    file.write_all(&header)?;
    for (index, tensor) in tensors.iter().enumerate() {
        let weights = tensor.shape.iter().product();
        tensor.stored.write(weights, index as u64, &mut file)?;
        let bytes = tensor.bytes();
        file.write_all(&[0; ALIGNMENT][..bytes.next_multiple_of(ALIGNMENT) - bytes])?;
    }
    file.flush()
}

fn put_text(header: &mut Vec<u8>, text: &str) {
    header.extend((text.len() as u64).to_le_bytes());
    header.extend(text.as_bytes());
}

/// Appends a value after the number of its type; an array also has that of its elements.
fn put_value(header: &mut Vec<u8>, value: &Value) {
    let mut kind = |number: u32| header.extend(number.to_le_bytes());
    match value {
        Value::U32(number) => {
            kind(4);
            header.extend(number.to_le_bytes());
        }
        Value::F32(number) => {
            kind(6);
            header.extend(number.to_le_bytes());
        }
        Value::Bool(is) => {
            kind(7);
            header.push(u8::from(*is));
        }
        Value::Text(text) => {
            kind(8);
            put_text(header, text);
        }
        Value::Texts(texts) => {
            kind(9);
            kind(8);
            header.extend((texts.len() as u64).to_le_bytes());
            for text in texts {
                put_text(header, text);
            }
        }
        Value::I32s(numbers) => {
            kind(9);
            kind(5);
            header.extend((numbers.len() as u64).to_le_bytes());
            for number in numbers {
                header.extend(number.to_le_bytes());
            }
        }
    }
}
