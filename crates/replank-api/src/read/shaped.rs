//! Objects as rows of a table, or as their metadata alone.

use std::sync::atomic::{AtomicBool, Ordering};

use bytes::{BufMut, Bytes, BytesMut};
use replank_apiserver::ApiError;
use serde_json::{Value, json};

use super::encode::Encode;
use super::list::Listed;
use super::rows;
use super::value::{list_value, value, value_at};
use crate::mirror::{Snapshot, Stored};
use crate::owner::Clock;
use crate::query::Query;
use crate::route::Target;
use crate::table::{Columns, Include, columns, metadata, table};
use crate::wire::{self, Encoding, Shape};

/// How objects of a resource are shown.
#[derive(Clone, Debug)]
pub(crate) struct Shaped {
    shape: Shape,
    columns: Option<Columns>,
    include: Include,
    clock: Clock,
}

impl Shaped {
    /// How objects are shown to a request.
    ///
    /// # Errors
    /// 400 for an `includeObject` that there is not.
    pub(crate) fn new(
        shape: Shape,
        target: &Target,
        snapshot: &Snapshot,
        query: &Query,
        clock: Clock,
    ) -> Result<Self, ApiError> {
        let is_table = matches!(shape, Shape::Table(_));
        let word = query.get("includeObject").filter(|_| is_table);
        let include = Include::read(word).ok_or_else(|| {
            let word = word.unwrap_or_default();
            let why = "must be 'Metadata', 'Object', 'None', or empty";
            ApiError::bad_request(&format!(
                "Unable to convert to Table as requested: includeObject: Invalid value: {word:?}: {why}"
            ))
        })?;
        let columns = is_table.then(|| columns(target, snapshot));
        Ok(Self { shape, columns, include, clock })
    }

    /// An object.
    ///
    /// # Errors
    /// 406 where a list is asked for; of a custom resource 500, as upstream.
    pub(crate) fn object(&self, target: &Target, object: Value) -> Result<Value, ApiError> {
        match self.shape {
            Shape::Object => Ok(object),
            Shape::Metadata(version) => Ok(metadata(&object, version)),
            Shape::MetadataList(_) if target.is_custom => Err(ApiError::internal("content is not a list")),
            Shape::MetadataList(_) => {
                let kind = go_type(target, "");
                let why = format!(
                    "you requested PartialObjectMetadataList, but the requested object is not a list ({kind})"
                );
                Err(ApiError::not_acceptable(&why))
            }
            Shape::Table(version) => {
                let definitions = self.columns.as_ref().map_or(Value::Null, Columns::definitions);
                Ok(self.table(definitions, &object, version))
            }
        }
    }

    /// A list as JSON, put together from what has been written out; `None` for what is converted as a whole.
    pub(crate) async fn pieces(&self, target: &Target, listed: &Listed) -> Option<Vec<Bytes>> {
        if target.older.is_some() || listed.items.is_empty() {
            return None;
        }
        match (self.shape, &self.columns, self.include) {
            (Shape::MetadataList(version), ..) => Some(rows::metadata_list(target, listed, version).await),
            (Shape::Table(version), Some(columns), Include::None | Include::Metadata) => {
                let shown =
                    rows::Rows { columns, version, now: self.clock.now().as_millis(), include: self.include };
                shown.table(target, listed).await
            }
            (Shape::Table(_), None | Some(_), _) | (Shape::Object | Shape::Metadata(_), ..) => None,
        }
    }

    /// A list.
    ///
    /// # Errors
    /// 406 where one object is asked for.
    pub(crate) fn list(&self, target: &Target, listed: &Listed) -> Result<Value, ApiError> {
        let all = || listed.items.iter().map(|stored| value(target, stored));
        match self.shape {
            Shape::Object => Ok(list_value(target, listed)),
            Shape::MetadataList(version) => {
                // Go's list without an item is null.
                let items: Option<Vec<Value>> = (!listed.items.is_empty())
                    .then(|| all().map(|object| metadata(&object, version)).collect());
                Ok(
                    json!({"kind": "PartialObjectMetadataList", "apiVersion": format!("meta.k8s.io/{version}"),
                    "metadata": listed.metadata, "items": items}),
                )
            }
            Shape::Metadata(_) => {
                let kind = go_type(target, "List");
                let why = format!(
                    "you requested PartialObjectMetadata, but the requested object is a list ({kind})"
                );
                Err(ApiError::not_acceptable(&why))
            }
            Shape::Table(version) => {
                let definitions = self.columns.as_ref().map_or(Value::Null, Columns::definitions);
                let rows = all().map(|object| self.row(&object, version)).collect();
                Ok(table(definitions, rows, &listed.metadata, version))
            }
        }
    }

    fn table(&self, definitions: Value, object: &Value, version: &str) -> Value {
        table(definitions, vec![self.row(object, version)], &object["metadata"], version)
    }

    fn row(&self, object: &Value, version: &str) -> Value {
        let now = self.clock.now().as_millis();
        self.columns.as_ref().map_or(Value::Null, |columns| columns.row(object, now, self.include, version))
    }
}

/// What Go calls the type of an object of a resource, or of a list of these.
fn go_type(target: &Target, suffix: &str) -> String {
    let name = &target.resource.name;
    if target.is_custom {
        return format!("*unstructured.Unstructured{suffix}");
    }
    let package = match name.group.split('.').next() {
        // Events of both groups are one kind within the server.
        None | Some("" | "events") => "core",
        Some(package) => package,
    };
    format!("*{package}.{}{suffix}", name.kind)
}

/// A watch whose objects are shown so; columns are told once.
#[derive(Debug)]
pub(crate) struct ShapedWatch {
    shaped: Shaped,
    encoding: Encoding,
    has_columns: AtomicBool,
}

impl ShapedWatch {
    pub(crate) fn new(shaped: Shaped, encoding: Encoding) -> Self {
        Self { shaped, encoding, has_columns: AtomicBool::new(false) }
    }

    fn put(&self, into: &mut BytesMut, what: &str, object: &Value) {
        match self.encoding {
            Encoding::Json | Encoding::Yaml => {
                into.put_slice(json!({"type": what, "object": object}).to_string().as_bytes());
                into.put_u8(b'\n');
            }
            Encoding::Protobuf => {
                into.put_slice(&wire::proto_frame(what, &wire::proto(object).unwrap_or_default()));
            }
        }
    }

    fn shown(&self, object: &Value) -> Value {
        match self.shaped.shape {
            Shape::Object => object.clone(),
            Shape::Metadata(version) | Shape::MetadataList(version) => metadata(object, version),
            Shape::Table(version) => {
                let is_first = !self.has_columns.swap(true, Ordering::Relaxed);
                let columns = self.shaped.columns.as_ref().filter(|_| is_first);
                let definitions = columns.map_or(Value::Null, Columns::definitions);
                self.shaped.table(definitions, object, version)
            }
        }
    }
}

impl Encode for ShapedWatch {
    fn event(
        &self,
        into: &mut BytesMut,
        what: &str,
        (target, stored): (&Target, &Stored),
        version: Option<u64>,
    ) {
        let object = value_at(target, stored, version);
        self.put(into, what, &self.shown(&object));
    }

    fn notice(&self, into: &mut BytesMut, what: &str, object: &Value) {
        match object["kind"] == "Status" {
            true => self.put(into, what, object),
            false => self.put(into, what, &self.shown(object)),
        }
    }
}
