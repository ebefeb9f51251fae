//! A snapshot as the pods of a Job are given it: compressed, in pieces that fit into ConfigMaps. The Job may run in another
//! cluster than the one it is about: Secrets are left out, and what `replank snapshot` leaves out of objects.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use replank_intake::document::Found;
use replank_intake::limits::Limits;
use replank_intake::source::Source;
use replank_live::reduced;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::report::words::count;

/// Compressed bytes of one piece. An API server takes a ConfigMap of 1 MiB.
const PIECE_MAX: usize = 700 << 10;
/// ConfigMaps with settings that a rehearsal reads.
const SETTINGS: [&str; 3] =
    ["cluster-autoscaler-priority-expander", "workflow-controller-configmap", "istio"];
/// How much text is compressed before it is looked at how large it has become.
const STEP: usize = 64 << 10;

/// The pieces, each a gzip file of JSON documents.
pub(in crate::rehearse) struct Packed {
    pub(in crate::rehearse) pieces: Vec<Vec<u8>>,
}

impl Packed {
    /// Reads all sources.
    ///
    /// # Errors
    /// Where anything of them cannot be read: the pods would not know of it.
    pub(in crate::rehearse) fn of(sources: Vec<Source>) -> Result<Self, Failure> {
        let mut packer = Packer::default();
        let (mut problems, mut first, mut wrong) = (0_usize, None, None);
        replank_intake::read::read(sources, &Limits::default(), &mut |found| {
            let value = match found {
                Found::Document(document) => document.value,
                Found::List { api_version, kind } => {
                    json!({"apiVersion": api_version, "kind": kind, "items": []})
                }
                Found::Problem(problem) => {
                    problems += 1;
                    first.get_or_insert(problem.to_string());
                    return;
                }
            };
            if let Err(error) = packer.add(value) {
                wrong.get_or_insert(error);
            }
        })
        .map_err(Failure::usage)?;
        if let Some(error) = wrong {
            return Err(Failure::internal(error));
        }
        if let Some(first) = first {
            return Err(Failure::usage_message(format!(
                "{} of the snapshot cannot be read, so the pods would rehearse on less than there is: {first}",
                count(problems, "part")
            ))
            .next("correct the snapshot, or rehearse here: omit --on-cluster"));
        }
        Ok(Self { pieces: packer.finish().map_err(Failure::internal)? })
    }

    /// The same as sources: what the pods will read.
    pub(in crate::rehearse) fn sources(&self, name: &str) -> Vec<Source> {
        self.pieces.iter().map(|piece| Source::bytes(name, piece.clone())).collect()
    }
}

/// Documents on their way into pieces.
#[derive(Default)]
struct Packer {
    pieces: Vec<Vec<u8>>,
    open: Option<GzEncoder<Vec<u8>>>,
    written: usize,
}

impl Packer {
    fn add(&mut self, mut value: Value) -> std::io::Result<()> {
        if value["kind"] == "Secret" && value["apiVersion"] == "v1" {
            return Ok(());
        }
        let is_read = value["metadata"]["name"].as_str().is_some_and(|name| SETTINGS.contains(&name));
        reduced(&mut value, is_read);
        let open = self.open.get_or_insert_with(|| GzEncoder::new(Vec::new(), Compression::best()));
        let line = value.to_string();
        open.write_all(line.as_bytes())?;
        open.write_all(b"\n")?;
        self.written += line.len();
        if self.written >= STEP {
            self.written = 0;
            open.flush()?;
            if open.get_ref().len() >= PIECE_MAX {
                self.close()?;
            }
        }
        Ok(())
    }

    fn close(&mut self) -> std::io::Result<()> {
        if let Some(open) = self.open.take() {
            self.pieces.push(open.finish()?);
        }
        Ok(())
    }

    fn finish(mut self) -> std::io::Result<Vec<Vec<u8>>> {
        self.close()?;
        Ok(self.pieces)
    }
}
