//! A list of objects as a file, written item by item.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

/// A `v1` List, written item by item.
pub(crate) struct List<W: Write> {
    out: W,
    is_empty: bool,
}

impl<W: Write> List<W> {
    pub(crate) fn begin(mut out: W) -> Result<Self> {
        out.write_all(b"{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n")?;
        Ok(Self { out, is_empty: true })
    }

    pub(crate) fn item(&mut self, object: &Value) -> Result<()> {
        if !self.is_empty {
            self.out.write_all(b",\n")?;
        }
        self.is_empty = false;
        Ok(serde_json::to_writer(&mut self.out, object)?)
    }

    pub(crate) fn end(mut self) -> Result<W> {
        self.out.write_all(b"\n]}\n")?;
        Ok(self.out)
    }
}

impl List<GzEncoder<BufWriter<File>>> {
    /// As a gzip file.
    pub(crate) fn gzip(path: &Path) -> Result<Self> {
        let file = File::create(path).with_context(|| format!("{} cannot be written", path.display()))?;
        Self::begin(GzEncoder::new(BufWriter::new(file), Compression::fast()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_valid_json_however_many_items_it_has() {
        for items in 0..3 {
            let mut list = List::begin(Vec::new()).expect("memory");
            for number in 0..items {
                list.item(&serde_json::json!({"number": number})).expect("memory");
            }
            let text = list.end().expect("memory");
            let value: Value = serde_json::from_slice(&text).expect("JSON");
            assert_eq!(value["items"].as_array().map(Vec::len), Some(items));
        }
    }
}
