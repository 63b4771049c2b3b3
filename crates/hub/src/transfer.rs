//! Reading the bytes of a file, with progress, a size limit and cancellation.

use std::io::{Error, ErrorKind, Read};

use crate::error::HubError;
use crate::progress::{Stage, Watch};

/// The bytes read between two checks of the cancel flag.
const CHUNK_BYTES: usize = 256 * 1024;

/// The bytes of one file.
pub(crate) struct Transfer<'a> {
    pub(crate) stage: Stage,
    /// The name to report progress under.
    pub(crate) label: &'a str,
    /// The bytes received earlier.
    pub(crate) start: u64,
    /// Bytes of the whole file, if known.
    pub(crate) total: Option<u64>,
    /// The most bytes that the whole file may have.
    pub(crate) most: u64,
}

impl<'a> Transfer<'a> {
    /// A file from its beginning; see the fields.
    pub(crate) fn whole(stage: Stage, label: &'a str, total: Option<u64>, most: u64) -> Self {
        Self {
            stage,
            label,
            start: 0,
            total,
            most,
        }
    }

    /// Reads `from` to its end and passes each chunk, or the error that ends it, to `to`. Returns
    /// the size of the whole file.
    pub(crate) fn run(
        &self,
        from: &mut dyn Read,
        watch: &mut Watch,
        mut to: impl FnMut(Result<&[u8], Error>) -> Result<(), HubError>,
    ) -> Result<u64, HubError> {
        let too_large = || HubError::TooLarge {
            what: self.label.to_owned(),
            most: self.most,
            announced: self.total,
        };
        if self.total.is_some_and(|total| total > self.most) {
            return Err(too_large());
        }
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut done = self.start;
        loop {
            watch.step(self.stage, self.label, done, self.total)?;
            let count = match from.read(&mut chunk) {
                Ok(0) => return Ok(done),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => {
                    to(Err(error))?;
                    return Ok(done);
                }
            };
            done += count as u64;
            if done > self.most {
                return Err(too_large());
            }
            to(Ok(&chunk[..count]))?;
        }
    }
}
