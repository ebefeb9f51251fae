//! What has been written out of an object once, for all who ask.

use bytes::Bytes;
use replank_apiserver::ResourceType;
use replank_apiserver::json::served_at;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::mirror::{Form, FormKind, Stored};
use crate::table::{self, Columns, Moment};

/// An object's members after `kind` and `apiVersion`, with the closing brace.
pub(crate) fn tail(resource: &ResourceType, stored: &Stored) -> Bytes {
    stored.form(&form(resource), |object| tail_of(served_at(resource, object)))
}

/// An object's metadata alone: a part of what has been written out, and no copy of it.
pub(super) fn metadata(resource: &ResourceType, stored: &Stored) -> Bytes {
    let kept = Form { kind: FormKind::Metadata, ..form(resource) };
    if let Some(bytes) = stored.known(&kept) {
        return bytes;
    }
    let tail = tail(resource, stored);
    let bytes = match &*resource.name.kind {
        // Not as it is written.
        "DaemonSet" => shown_metadata(resource, stored),
        _ => within(&tail).unwrap_or_else(|| shown_metadata(resource, stored)),
    };
    stored.keep(&kept, bytes)
}

/// An object's row in a table at a moment, without the object and the closing brace; nothing where what is written out is no JSON.
pub(super) fn row(
    resource: &ResourceType,
    stored: &Stored,
    columns: &Columns,
    now: i64,
    mut each: impl FnMut(&str),
) -> Option<()> {
    let kept = Form { kind: FormKind::Row, ..form(resource) };
    let row = match stored.known(&kept) {
        Some(row) => row,
        None => {
            let whole = whole(&tail(resource, stored));
            let seen = columns.seen(&whole).ok()?;
            // A column of a custom resource may show its kind.
            let seen = if resource.custom.is_some() { with_kind(resource, seen) } else { seen };
            let is_ambiguous = table::ages::is_ambiguous(&whole);
            let moment = if is_ambiguous { Moment::At(now) } else { Moment::Later };
            let mut text = Value::from(columns.cells(&seen, moment)).to_string();
            text.pop();
            let row = Bytes::from(text.into_bytes().into_boxed_slice());
            if is_ambiguous {
                each(std::str::from_utf8(&row).ok()?);
                return Some(());
            }
            stored.keep(&kept, row)
        }
    };
    table::ages::fill(std::str::from_utf8(&row).ok()?, now, each);
    Some(())
}

fn shown_metadata(resource: &ResourceType, stored: &Stored) -> Bytes {
    let mut shown = table::metadata(&served_at(resource, &stored.object), "v1");
    Bytes::from(shown["metadata"].take().to_string())
}

/// The metadata within an object's members.
fn within(tail: &Bytes) -> Option<Bytes> {
    #[derive(Deserialize)]
    struct Members<'a> {
        #[serde(borrow)]
        metadata: &'a RawValue,
    }
    let whole = whole(tail);
    let members: Members<'_> = serde_json::from_slice(&whole).ok()?;
    let text = members.metadata.get();
    let start = (text.as_ptr() as usize).checked_sub(whole.as_ptr() as usize)?.checked_sub(1)?;
    Some(tail.slice(start..start + text.len()))
}

/// The members of an object, in braces.
pub(super) fn whole(tail: &Bytes) -> Vec<u8> {
    [b"{", &**tail].concat()
}

/// What an object is served as, read from what has been written out, where it has: that takes a fraction of the time of putting it together anew.
pub(super) fn known(resource: &ResourceType, stored: &Stored) -> Option<Value> {
    let tail = stored.known(&form(resource))?;
    let value = serde_json::from_slice(&whole(&tail)).ok()?;
    Some(with_kind(resource, value))
}

/// An object's members with the two that are written out apart.
pub(super) fn with_kind(resource: &ResourceType, mut members: Value) -> Value {
    members["kind"] = (*resource.name.kind).into();
    members["apiVersion"] = resource.api_version().into();
    members
}

/// An object that has been written out for somebody else is taken for the one that is stored: it has the same version.
pub(crate) fn keep(resource: &ResourceType, stored: &Stored, value: Value) -> Bytes {
    stored.keep(&form(resource), tail_of(value))
}

fn form(resource: &ResourceType) -> Form {
    // What an object is served as depends on its definition too.
    let version = match &resource.custom {
        Some(custom) => format!("{}@{}", resource.api_version(), custom.revision.0),
        None => resource.api_version(),
    };
    Form { kind: FormKind::JsonTail, version: version.into() }
}

pub(super) fn tail_of(mut value: Value) -> Bytes {
    if let Value::Object(members) = &mut value {
        members.remove("kind");
        members.remove("apiVersion");
    }
    let text = value.to_string();
    // Every object has metadata, so something follows the brace.
    Bytes::from(text.into_bytes().into_boxed_slice()).slice(1..)
}

#[cfg(test)]
mod tests {
    use replank_model::object::Object;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_is_kept_and_its_ages_are_those_of_the_moment() {
        let resource = ResourceType::built_in("", "v1", "configmaps").expect("it is served").clone();
        let known = replank_schema::columns("", "v1", "configmaps").expect("it has columns");
        let columns = Columns::Known(String::new(), "configmaps".to_owned(), known);
        for data in ["plain", "\u{1}5\u{1}"] {
            let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": data},
                "metadata": {"name": "a", "namespace": "b", "creationTimestamp": "1970-01-01T00:01:00Z"}});
            let stored = Stored::new(Object::from_json(object).expect("it is well formed"));
            for (now, age) in [(70_000, "10s"), (65_000, "5s")] {
                let mut told = String::new();
                row(&resource, &stored, &columns, now, |part| told.push_str(part)).expect("it is JSON");
                assert_eq!(told, format!(r#"{{"cells":["a",1,"{age}"]"#), "{data}");
            }
        }
    }

    #[test]
    fn metadata_is_a_part_of_what_is_written_out() {
        let of = |group: &str, plural: &str, object: Value| {
            let resource = ResourceType::built_in(group, "v1", plural).expect("it is served").clone();
            let stored = Stored::new(Object::from_json(object).expect("it is well formed"));
            let shown = table::metadata(&served_at(&resource, &stored.object), "v1")["metadata"].take();
            let bytes = metadata(&resource, &stored);
            assert_eq!(serde_json::from_slice::<Value>(&bytes).expect("it is JSON"), shown);
            assert_eq!(metadata(&resource, &stored), bytes);
            let tail = tail(&resource, &stored);
            tail.as_ptr_range().contains(&bytes.as_ptr())
        };
        let meta = json!({"name": "a", "namespace": "b", "annotations": {"x": "\"metadata\": {}}\n"}});
        // What comes before the metadata does not matter.
        let map =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"metadata": "x"}, "metadata": meta});
        assert!(of("", "configmaps", map));
        let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "x", "image": "y"}]}});
        let set = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
            "metadata": {"name": "a", "namespace": "b", "annotations": {"deprecated.daemonset.template.generation": "1"}}});
        assert!(!of("apps", "daemonsets", set), "an annotation is left out");
    }
}
