//! Values as JSON in Python's format, which models were trained on.

use std::io::{Result as Written, Write};

use minijinja::value::{Kwargs, Value};
use minijinja::{Error, ErrorKind};
use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{Formatter, PrettyFormatter};

/// A value in a line, or with `indent` spaces for each level.
///
/// # Errors
/// A value without a form in JSON.
pub(super) fn written(value: &Value, options: &Kwargs) -> Result<String, Error> {
    let indent: Option<usize> = options.get("indent")?;
    let mut bytes = Vec::new();
    let written = match indent {
        Some(indent) => {
            let spaces = vec![b' '; indent.min(8)];
            let format = PrettyFormatter::with_indent(&spaces);
            value.serialize(&mut Serializer::with_formatter(&mut bytes, format))
        }
        None => value.serialize(&mut Serializer::with_formatter(&mut bytes, Line)),
    };
    written.map_err(|error| Error::new(ErrorKind::BadSerialization, error.to_string()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// With a space after commas and colons.
struct Line;

impl Formatter for Line {
    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> Written<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> Written<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> Written<()> {
        writer.write_all(b": ")
    }
}
