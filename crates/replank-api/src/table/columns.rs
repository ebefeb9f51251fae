//! The columns of a resource, and tables made with them.

use replank_apiserver::ResourceType;
use replank_apiserver::json::served_at;
use replank_model::object::meta::Key;
use replank_schema::Column;
use serde_json::{Map, Value, json};

use super::custom::{CustomColumn, of_definition};
use super::look::{Look, Moment};
use super::rows;
use super::seen::seen;
use crate::mirror::{Snapshot, StorageId};
use crate::route::Target;

/// What of each object goes with its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Include {
    /// Nothing.
    None,
    /// Its metadata.
    Metadata,
    /// All of it.
    Object,
}

impl Include {
    /// Reads `includeObject`; `None` for a word that there is not.
    pub(crate) fn read(word: Option<&str>) -> Option<Self> {
        match word {
            Some("None") => Some(Self::None),
            None | Some("" | "Metadata") => Some(Self::Metadata),
            Some("Object") => Some(Self::Object),
            Some(_) => None,
        }
    }
}

/// The columns of a resource.
#[derive(Clone, Debug)]
pub(crate) enum Columns {
    /// Of a resource that the server knows: its group, its plural name, its columns.
    Known(String, String, &'static [Column]),
    /// Of a resource that a definition declares.
    Custom(Vec<CustomColumn>),
}

/// The columns of a resource.
pub(crate) fn columns(target: &Target, snapshot: &Snapshot) -> Columns {
    let resource = &target.resource;
    let name = &resource.name;
    if !target.is_custom {
        let known = replank_schema::columns(&name.group, &resource.version, &name.plural);
        let columns = known.unwrap_or_else(plain);
        return Columns::Known(name.group.to_string(), name.plural.to_string(), columns);
    }
    let key = Key::new("", format!("{}.{}", name.plural, name.group).as_str());
    let definitions = ResourceType::built_in("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    let definition = definitions.and_then(|definitions| {
        let stored = snapshot.get(&StorageId::of_resource(definitions), &key)?;
        Some(served_at(definitions, &stored.object))
    });
    let definition = definition.unwrap_or_default();
    let age = replank_schema::columns("", "v1", "configmaps").and_then(|all| all.last());
    let age = age.map(|one| one.description.as_str()).unwrap_or_default();
    Columns::Custom(of_definition(&definition, &resource.version, age))
}

/// Name and creation, as resources have them that have no columns of their own.
fn plain() -> &'static [Column] {
    replank_schema::columns("", "v1", "limitranges").unwrap_or_default()
}

impl Columns {
    /// `columnDefinitions`.
    pub(crate) fn definitions(&self) -> Value {
        match self {
            Self::Known(_, _, columns) => columns.iter().map(definition).collect(),
            Self::Custom(columns) => {
                let name = plain().first().map(definition);
                name.into_iter().chain(columns.iter().map(|one| one.definition.clone())).collect()
            }
        }
    }

    /// What rows look at of an object, read from its JSON.
    ///
    /// # Errors
    /// What is no JSON.
    pub(crate) fn seen(&self, object: &[u8]) -> serde_json::Result<Value> {
        match self {
            Self::Known(group, plural, _) => seen(group, plural, object),
            // A column may be any path.
            Self::Custom(_) => serde_json::from_slice(object),
        }
    }

    /// The row of an object at a moment, in milliseconds since 1970.
    pub(crate) fn row(&self, object: &Value, now: i64, include: Include, version: &str) -> Value {
        let mut row = self.cells(object, Moment::At(now));
        row.insert(
            "object".to_owned(),
            match include {
                Include::None => Value::Null,
                Include::Metadata => metadata(object, version),
                Include::Object => object.clone(),
            },
        );
        row.into()
    }

    /// A row without the object: its cells, and its conditions where it has any.
    pub(crate) fn cells(&self, object: &Value, now: Moment) -> Map<String, Value> {
        let look = Look { object, now };
        let mut row = Map::new();
        let cells = match self {
            Self::Known(group, plural, _) => {
                if let Some(conditions) = rows::conditions(group, plural, look) {
                    row.insert("conditions".to_owned(), conditions);
                }
                rows::cells(group, plural, look)
                    .unwrap_or_else(|| vec![look.name(), look.text("/metadata/creationTimestamp").into()])
            }
            Self::Custom(columns) => {
                std::iter::once(look.name()).chain(columns.iter().map(|one| one.cell(look))).collect()
            }
        };
        row.insert("cells".to_owned(), cells.into());
        row
    }
}

fn definition(column: &Column) -> Value {
    json!({"name": column.name, "type": column.basic, "format": column.format, "description": column.description,
        "priority": column.priority})
}

/// The metadata of an object, as an object of its own in a version of `meta.k8s.io`.
pub(crate) fn metadata(object: &Value, version: &str) -> Value {
    let of_kind = json!({"kind": "PartialObjectMetadata", "apiVersion": format!("meta.k8s.io/{version}")});
    let mut whole = of_kind;
    whole["metadata"] = object["metadata"].clone();
    if object["kind"] == "DaemonSet" {
        without_counter(&mut whole["metadata"]);
    }
    whole
}

/// The internal type, which metadata is taken from, has no annotation with the number of the template.
fn without_counter(metadata: &mut Value) {
    let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) else { return };
    annotations.remove("deprecated.daemonset.template.generation");
    if annotations.is_empty() {
        metadata.as_object_mut().and_then(|members| members.remove("annotations"));
    }
}

/// A table of some rows, of a list or an object with such metadata.
#[expect(
    clippy::needless_pass_by_value,
    reason = "json! takes references, and whoever calls it has no more use for them"
)]
pub(crate) fn table(columns: Value, rows: Vec<Value>, of: &Value, version: &str) -> Value {
    let mut metadata = Map::new();
    for member in ["resourceVersion", "continue", "remainingItemCount"] {
        if let Some(value) = of.get(member) {
            metadata.insert(member.to_owned(), value.clone());
        }
    }
    json!({"kind": "Table", "apiVersion": format!("meta.k8s.io/{version}"), "metadata": metadata,
        "columnDefinitions": columns, "rows": rows})
}

#[cfg(test)]
mod tests {
    use replank_schema::discovery;

    use super::*;

    #[test]
    fn every_row_has_as_many_cells_as_there_are_columns() {
        let object = json!({"metadata": {"name": "x"}});
        for group in discovery().all() {
            for version in &group.versions {
                for resource in &version.resources {
                    let Some(known) =
                        replank_schema::columns(group.name(), &version.version, &resource.resource)
                    else {
                        continue;
                    };
                    let columns = Columns::Known(group.name().to_owned(), resource.resource.clone(), known);
                    let row = columns.row(&object, 0, Include::None, "v1");
                    let cells = row["cells"].as_array().map_or(0, Vec::len);
                    // Addresses have a cell for their age, and no column for it: so upstream.
                    let extra = usize::from(resource.resource == "ipaddresses");
                    assert_eq!(cells, known.len() + extra, "{} {row}", resource.resource);
                }
            }
        }
    }

    #[test]
    fn a_table_says_what_its_list_says() {
        let table = table(json!([]), Vec::new(), &json!({"resourceVersion": "7", "uid": "x"}), "v1beta1");
        assert_eq!(table["metadata"], json!({"resourceVersion": "7"}));
        assert_eq!(table["apiVersion"], "meta.k8s.io/v1beta1");
    }
}
