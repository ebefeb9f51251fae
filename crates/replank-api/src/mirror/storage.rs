//! Under which name objects are held, whichever version they are asked for in.

use replank_apiserver::ResourceType;
use replank_model::object::{Kind, Object};
use replank_model::text::Text;

/// What objects of one kind are held under: all versions of a resource are one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StorageId {
    /// A kind that the model knows.
    Typed(Kind),
    /// Any other.
    Untyped {
        /// API group.
        group: Text,
        /// Kind.
        kind: Text,
    },
}

impl StorageId {
    /// What an object is held under.
    #[must_use]
    pub fn of(object: &Object) -> Self {
        if let Object::Other(other) = object {
            return Self::untyped(other.group().into(), other.kind.clone());
        }
        Self::Typed(object.kind())
    }

    /// What the objects of a resource are held under.
    #[must_use]
    pub fn of_resource(resource: &ResourceType) -> Self {
        if resource.kind == Kind::Other {
            return Self::untyped(resource.name.group.clone(), resource.name.kind.clone());
        }
        Self::Typed(resource.kind)
    }

    /// Events are one resource in two groups.
    fn untyped(group: Text, kind: Text) -> Self {
        let group = if &*kind == "Event" && &*group == "events.k8s.io" { Text::default() } else { group };
        Self::Untyped { group, kind }
    }
}
