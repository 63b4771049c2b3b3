//! Validation of manifests. Names become paths and numbers sizes, so both are checked right after
//! parsing.

use std::collections::HashSet;

use super::layout;
use super::manifest::{FileManifest, Manifest, SegmentManifest};
use super::shards::Sharding;

/// The most numbers that a vector may have.
const MOST_DIMENSIONS: usize = 1 << 20;
/// The most bytes that all files of a generation may have, so that sums never overflow.
const MOST_BYTES: u64 = 1 << 60;

impl Manifest {
    /// Fails with a description of the first fault.
    pub(super) fn validate(&self) -> Result<(), String> {
        let Sharding { count, .. } = self.settings.sharding;
        if !(1..=Sharding::MOST).contains(&count) {
            return Err(format!("it names {count} shards"));
        }
        let dimensions = self.settings.embedder.dimensions;
        if dimensions > MOST_DIMENSIONS {
            return Err(format!("it names vectors of {dimensions} numbers"));
        }
        let mut ids = HashSet::new();
        let mut bytes: u64 = 0;
        for segment in &self.segments {
            segment.validate(count)?;
            if !ids.insert(&segment.id) {
                return Err(format!("it names the segment {:?} twice", segment.id));
            }
            for file in segment.files.iter().chain(segment.beside()) {
                bytes = bytes.saturating_add(file.bytes);
            }
        }
        match bytes <= MOST_BYTES {
            true => Ok(()),
            false => Err(format!("it names {bytes} bytes")),
        }
    }
}

impl SegmentManifest {
    fn validate(&self, shards: u32) -> Result<(), String> {
        let id = &self.id;
        if !layout::is_segment_id(id) {
            return Err(format!("{id:?} is no name of a segment"));
        }
        if self.shard >= shards {
            return Err(format!("the segment {id} is of shard {}", self.shard));
        }
        let counts = self.passages <= u64::from(u32::MAX)
            && self.live_documents <= self.documents
            && self
                .live_passages
                .checked_add(self.pruned_passages)
                .is_some_and(|counted| counted <= self.passages);
        if !counts {
            return Err(format!("the counts of the segment {id} do not fit"));
        }
        let mut names = HashSet::new();
        for FileManifest { name, .. } in &self.files {
            if !layout::is_file_name(name) {
                return Err(format!("{name:?} is no name of a file in a segment"));
            }
            if !names.insert(name) {
                return Err(format!("the segment {id} names the file {name} twice"));
            }
        }
        for (score, file) in &self.scores {
            let name = &file.name;
            if !layout::is_scores_name(name, score) {
                return Err(format!("{name:?} is no name of a file of scores {score:?}"));
            }
            if file.bytes != self.passages * size_of::<f32>() as u64 {
                return Err(format!("the file {name} does not fit the segment {id}"));
            }
        }
        match &self.marks {
            Some(marks) if !layout::is_marks_name(&marks.name) => {
                Err(format!("{:?} is no name of a file of marks", marks.name))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_ken_gives_are_names() {
        for id in ["00000001-000", "00000012-011-2", "123456789-000"] {
            assert!(layout::is_segment_id(id), "{id}");
            assert!(layout::is_marks_name(&layout::marks_name(7, id)), "{id}");
            let scores = layout::scores_name(7, id, "mastery_2");
            assert!(layout::is_scores_name(&scores, "mastery_2"), "{id}");
            assert!(!layout::is_scores_name(&scores, "mastery"), "{id}");
        }
        for id in [
            "",
            "..",
            "a-0",
            "1/2",
            "00000001",
            "00000001-000/..",
            "1-2-3-4",
            "-1-2",
        ] {
            assert!(!layout::is_segment_id(id), "{id}");
            assert!(!layout::is_marks_name(&format!("1.{id}.json")), "{id}");
        }
        let long = "a".repeat(65);
        for score in ["", "..", "a.b", "a/b", "A", "a b", "é", long.as_str()] {
            let name = layout::scores_name(7, "00000001-000", score);
            assert!(!layout::is_scores_name(&name, score), "{score}");
        }
        for name in [
            "passages.jsonl",
            "lexical/meta.json",
            "lexical/.managed.json",
        ] {
            assert!(layout::is_file_name(name), "{name}");
        }
        for name in [
            "", "..", "../x", "a/../b", "/etc/x", "a//b", "a\\b", "c:x", ".", "a/", "a\0b",
        ] {
            assert!(!layout::is_file_name(name), "{name}");
        }
        for name in [
            "",
            "x",
            "1.json",
            "1.00000001-000",
            "../1.00000001-000.json",
        ] {
            assert!(!layout::is_marks_name(name), "{name}");
        }
    }
}
