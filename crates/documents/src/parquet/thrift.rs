//! The part of Thrift's compact protocol that it takes to walk through a Parquet file's metadata
//! without keeping any of it. The bytes that are left bound every step.

use std::io::Read;

/// How deep structures may be nested; Parquet's own need ten.
const DEEPEST: usize = 32;

/// Why data cannot be walked through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flaw {
    /// They are malformed or end too early.
    Broken(&'static str),
    /// Lists have too many elements.
    TooMany,
}

/// The types of fields and elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Bool,
    Byte,
    Integer,
    Double,
    Binary,
    List,
    Map,
    Struct,
    Uuid,
}

impl Kind {
    fn of(code: u8) -> Result<Self, Flaw> {
        Ok(match code {
            1 | 2 => Self::Bool,
            3 => Self::Byte,
            4..=6 => Self::Integer,
            7 => Self::Double,
            8 => Self::Binary,
            9 | 10 => Self::List,
            11 => Self::Map,
            12 => Self::Struct,
            13 => Self::Uuid,
            _ => return Err(Flaw::Broken("a field of an unknown type")),
        })
    }
}

/// A walk through `left` bytes.
pub(super) struct Walk<R> {
    reader: R,
    /// The bytes that are left.
    pub(super) left: u64,
    elements_left: u64,
}

impl<R: Read> Walk<R> {
    pub(super) fn new(reader: R, bytes: u64, most_elements: u64) -> Self {
        Self {
            reader,
            left: bytes,
            elements_left: most_elements,
        }
    }

    /// Walks through a structure. `visit` gets each field's id and type, and returns whether it has
    /// consumed the field.
    pub(super) fn fields(
        &mut self,
        visit: &mut dyn FnMut(&mut Self, i64, Kind) -> Result<bool, Flaw>,
    ) -> Result<(), Flaw> {
        self.structure(0, visit)
    }

    /// The integer of the field that is being visited.
    pub(super) fn integer(&mut self) -> Result<i64, Flaw> {
        let number = self.number()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    /// The length of a list, and the type of its elements.
    pub(super) fn list(&mut self) -> Result<(u64, Kind), Flaw> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.number()?,
            count => u64::from(count),
        };
        if count > self.left {
            return Err(Flaw::Broken(
                "a list claims more elements than there are bytes",
            ));
        }
        self.elements_left = self.elements_left.checked_sub(count).ok_or(Flaw::TooMany)?;
        match (count, head & 15) {
            (0, _) => Ok((0, Kind::Byte)),
            (count, code) => Ok((count, Self::element(code)?)),
        }
    }

    /// The type of elements. The metadata that this walks through has no collections of booleans, and readers disagree on
    /// their encoding: one that reads them as empty would see other structures after them.
    fn element(code: u8) -> Result<Kind, Flaw> {
        match Kind::of(code)? {
            Kind::Bool => Err(Flaw::Broken("a list of booleans")),
            kind => Ok(kind),
        }
    }

    fn structure(
        &mut self,
        depth: usize,
        visit: &mut dyn FnMut(&mut Self, i64, Kind) -> Result<bool, Flaw>,
    ) -> Result<(), Flaw> {
        let mut field = 0_i64;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Ok(());
            }
            field = match head >> 4 {
                0 => self.integer()?,
                step => field.wrapping_add(i64::from(step)),
            };
            let kind = Kind::of(head & 15)?;
            if !visit(self, field, kind)? && kind != Kind::Bool {
                self.skip(kind, depth)?;
            }
        }
    }

    fn skip(&mut self, kind: Kind, depth: usize) -> Result<(), Flaw> {
        if depth > DEEPEST {
            return Err(Flaw::Broken("it is nested too deep"));
        }
        match kind {
            Kind::Bool | Kind::Byte => self.pass(1),
            Kind::Integer => self.number().map(drop),
            Kind::Double => self.pass(8),
            Kind::Uuid => self.pass(16),
            Kind::Binary => {
                let length = self.number()?;
                self.pass(length)
            }
            Kind::Struct => self.structure(depth + 1, &mut |_, _, _| Ok(false)),
            Kind::List => {
                let (count, kind) = self.list()?;
                (0..count).try_for_each(|_| self.skip(kind, depth + 1))
            }
            Kind::Map => {
                let count = self.number()?;
                if count == 0 {
                    return Ok(());
                }
                self.elements_left = self.elements_left.checked_sub(count).ok_or(Flaw::TooMany)?;
                let kinds = self.byte()?;
                let (key, value) = (Self::element(kinds >> 4)?, Self::element(kinds & 15)?);
                (0..count).try_for_each(|_| {
                    self.skip(key, depth + 1)?;
                    self.skip(value, depth + 1)
                })
            }
        }
    }

    fn number(&mut self) -> Result<u64, Flaw> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(Flaw::Broken("a number without end"))
    }

    fn byte(&mut self) -> Result<u8, Flaw> {
        let mut byte = [0];
        self.take(1)?;
        self.reader.read_exact(&mut byte).map_err(|_| ENDED)?;
        Ok(byte[0])
    }

    fn pass(&mut self, count: u64) -> Result<(), Flaw> {
        self.take(count)?;
        let passed = std::io::copy(&mut self.reader.by_ref().take(count), &mut std::io::sink());
        match passed {
            Ok(passed) if passed == count => Ok(()),
            _ => Err(ENDED),
        }
    }

    fn take(&mut self, count: u64) -> Result<(), Flaw> {
        self.left = self.left.checked_sub(count).ok_or(ENDED)?;
        Ok(())
    }
}

const ENDED: Flaw = Flaw::Broken("it ends too early");
