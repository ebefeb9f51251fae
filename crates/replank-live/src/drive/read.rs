//! From the API's JSON to what is seen of an object.

use replank_model::object::meta::Key;
use replank_model::object::{Kind, ObjectRef, Projector};
use replank_model::text::{Name, Namespace, NodeName, Uid};
use serde_json::Value;

use super::source::Source;
use super::told::Seen;
use crate::slim::slim;

/// Reads the objects of one resource, and shares what repeats between them.
#[derive(Debug, Default)]
pub(super) struct Reader {
    projector: Projector,
}

impl Reader {
    /// Reads an object that is there. One that cannot be read is there all the same.
    pub(super) fn object(&mut self, source: &Source, mut value: Value) -> Seen {
        let (object, node) = (reference(source, &value), node_of(&value));
        // Items of a typed list do not say what they are.
        let (api_version, kind) = if source.kind == Kind::Other {
            (source.resource.api_version(), source.resource.kind.clone())
        } else {
            (source.kind.api_version().to_owned(), source.kind.as_str().to_owned())
        };
        if value.is_object() {
            value["apiVersion"] = api_version.into();
            value["kind"] = kind.into();
        }
        slim(source.kind, &mut value);
        match self.projector.object(value) {
            Ok(object) => Seen::Object(object),
            Err(error) => Seen::Unread { object, node, why: error.to_string() },
        }
    }
}

/// Which object it is, as far as it says.
pub(super) fn reference(source: &Source, value: &Value) -> ObjectRef {
    let meta = &value["metadata"];
    let text = |member: &str| meta[member].as_str().unwrap_or_default();
    let key = Key { namespace: Namespace::from(text("namespace")), name: Name::from(text("name")) };
    ObjectRef { kind: source.kind, key, uid: Uid::from(text("uid")) }
}

/// The node that a pod is on, as far as it says.
fn node_of(value: &Value) -> Option<NodeName> {
    let node = value["spec"]["nodeName"].as_str().filter(|node| !node.is_empty())?;
    Some(NodeName::from(node))
}
