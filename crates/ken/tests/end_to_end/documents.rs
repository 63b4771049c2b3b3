//! The documents that most tests ingest: an invented island, in every supported format.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::harness::Ken;

/// Writes the documents to the folder `notes`: five of them, each short enough for one passage.
pub(crate) fn write_notes(ken: &Ken) {
    ken.write("notes/harbour.txt", HARBOUR);
    ken.write(
        "notes/town/bakery.md",
        "# The bakery of Tollen\n\nThe bakery opens at **five**. Its stone oven was built by \
         [Anders Pell](https://example.org) in 1902.\n",
    );
    ken.write(
        "notes/ferry.html",
        "<html><head><title>Ferry times</title><script>let hidden = 'zeppelin';</script></head>\
         <body><p>The ferry to Sandrey leaves at 7:40 from pier four &amp; takes an hour.</p>\
         </body></html>",
    );
    let records = concat!(
        r#"{"id": "museum-1", "contents": "\"Clock museum\"\nThe clock museum of Tollen shows 312 clocks."}"#,
        "\n",
        r#"{"_id": "bridge-1", "title": "Rope bridge", "text": "The rope bridge over the Lenn is 48 metres long."}"#,
        "\n",
    );
    ken.write("notes/records.jsonl.gz", gzip(records));
    ken.write("notes/picture.png", "no document");
}

/// The document that most questions are about.
pub(crate) const HARBOUR: &str = "The lighthouse of Orrin was built in 1871. The keeper of the \
Orrin lighthouse is Ilse Marrow. She feeds the seals every morning.\n";

/// Ingests the documents into the corpus `island`.
pub(crate) fn ingest_notes(ken: &Ken) {
    write_notes(ken);
    ken.text(&["ingest", "notes", "--corpus", "island"]);
}

/// A working folder with the documents, ingested.
pub(crate) fn with_notes() -> Ken {
    let ken = Ken::new();
    ingest_notes(&ken);
    ken
}

pub(crate) fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// What an ingest says of its documents: how many were added, moved, replaced, deleted and unchanged.
pub(crate) fn changes([added, moved, replaced, deleted, unchanged]: [u64; 5]) -> Value {
    json!({"added": added, "moved": moved, "replaced": replaced, "deleted": deleted, "unchanged": unchanged})
}
