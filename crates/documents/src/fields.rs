//! Making the document of a record from its fields, by the names and rules of the corpus.

use serde_json::{Map, Value};

use crate::error::ReadError;
use crate::place::{Part, Place};
use ken_corpus::{Document, FieldFault, FieldNames, Parts, Role};

/// How the records of one file become documents.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shape {
    pub(crate) names: FieldNames,
    /// The name of the file, for records without an id.
    pub(crate) file: String,
}

impl Shape {
    /// The document of a record. Fields of other names become metadata.
    pub(crate) fn document(
        &self,
        fields: Map<String, Value>,
        place: &Place,
    ) -> Result<Document, ReadError> {
        let missing = |role: Role| ReadError::MissingField {
            place: place.clone(),
            names: self.names.told(role),
        };
        let parts = self.names.parts(fields).map_err(|fault| match fault {
            FieldFault::Missing(role) => missing(role),
            FieldFault::WrongType { field, expected } => ReadError::WrongType {
                place: place.clone(),
                field,
                expected,
            },
        })?;
        let Parts {
            id,
            title,
            text,
            metadata,
        } = parts;
        let id = match id {
            Some(id) => id,
            None if self.names.numbers_records() => self.number(place),
            None => return Err(missing(Role::Id)),
        };
        Ok(Document {
            id,
            title,
            text,
            metadata,
            record: true,
            ..Document::default()
        })
    }

    /// The id of a record that has none.
    fn number(&self, place: &Place) -> String {
        let number = match place.part {
            Part::Line(number) | Part::Row(number) => number,
            Part::Whole => 0,
        };
        format!("{}:{number}", self.file)
    }
}
