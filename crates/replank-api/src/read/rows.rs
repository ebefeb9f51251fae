//! Lists as tables or as metadata, put together from what has been written out: rows look at a part of each object, and metadata is one.

use bytes::{BufMut, Bytes, BytesMut};
use serde_json::Value;

use super::list::Listed;
use super::written::{metadata, row};
use crate::route::Target;
use crate::table::{self, Columns, Include};

/// How many objects are written before others are let in.
const AT_ONCE: usize = 128;

/// How rows are shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows<'a> {
    pub(super) columns: &'a Columns,
    /// Of `meta.k8s.io`.
    pub(super) version: &'a str,
    /// Milliseconds since 1970.
    pub(super) now: i64,
    pub(super) include: Include,
}

impl Rows<'_> {
    /// A table of what is listed; `None` where an object cannot be read from what has been written out.
    pub(super) async fn table(&self, target: &Target, listed: &Listed) -> Option<Vec<Bytes>> {
        let empty = table::table(self.columns.definitions(), Vec::new(), &listed.metadata, self.version);
        let mut pieces = Pieces::between(&empty, "rows");
        for (number, stored) in listed.items.iter().enumerate() {
            pieces.item(number);
            row(&target.resource, stored, self.columns, self.now, |part| pieces.text(part))?;
            pieces.text(",\"object\":");
            match self.include {
                Include::None | Include::Object => pieces.text("null"),
                Include::Metadata => {
                    pieces.metadata(self.version, &metadata(&target.resource, stored));
                }
            }
            pieces.text("}");
            pieces.rest(number).await;
        }
        Some(pieces.end())
    }
}

/// What is listed, as metadata alone.
pub(super) async fn metadata_list(target: &Target, listed: &Listed, version: &str) -> Vec<Bytes> {
    let empty = serde_json::json!({"kind": "PartialObjectMetadataList", "apiVersion": format!("meta.k8s.io/{version}"),
        "metadata": listed.metadata, "items": []});
    let mut pieces = Pieces::between(&empty, "items");
    for (number, stored) in listed.items.iter().enumerate() {
        pieces.item(number);
        pieces.metadata(version, &metadata(&target.resource, stored));
        pieces.rest(number).await;
    }
    pieces.end()
}

/// A list that is being written.
struct Pieces {
    done: Vec<Bytes>,
    open: BytesMut,
}

impl Pieces {
    /// The members of a list but for its items, and the beginning of these.
    fn between(list: &Value, items: &str) -> Self {
        let mut open = BytesMut::new();
        open.put_u8(b'{');
        for (name, value) in list.as_object().into_iter().flatten().filter(|(name, _)| *name != items) {
            open.put_slice(format!("{}:{value},", Value::from(name.as_str())).as_bytes());
        }
        open.put_slice(format!("\"{items}\":[").as_bytes());
        Self { done: Vec::new(), open }
    }

    fn item(&mut self, number: usize) {
        if number > 0 {
            self.open.put_u8(b',');
        }
    }

    fn text(&mut self, text: &str) {
        self.open.put_slice(text.as_bytes());
    }

    fn metadata(&mut self, version: &str, metadata: &[u8]) {
        self.text("{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/");
        self.text(version);
        self.text("\",\"metadata\":");
        self.open.put_slice(metadata);
        self.text("}");
    }

    /// Others want to be answered, too, while thousands are written out.
    async fn rest(&mut self, number: usize) {
        if number % AT_ONCE == AT_ONCE - 1 {
            self.done.push(self.open.split().freeze());
            tokio::task::yield_now().await;
        }
    }

    fn end(mut self) -> Vec<Bytes> {
        self.text("]}\n");
        self.done.push(self.open.freeze());
        self.done
    }
}
