//! The types of a schema.
use rustc_hash::FxHashMap;

use crate::table::Gvk;

/// Number of a type within a schema.
pub(super) type TypeIndex = usize;

/// All types.
#[derive(Debug)]
pub struct Schema {
    pub(super) types: Vec<Shape>,
    pub(super) kinds: FxHashMap<Gvk, TypeIndex>,
}

impl Schema {
    /// Whether a group, version and kind is served, lists of a kind included.
    pub fn serves(&self, gvk: &Gvk) -> bool {
        self.kinds.contains_key(gvk)
    }

    /// Every group, version and kind with a type, in no order.
    pub fn kinds(&self) -> impl Iterator<Item = &Gvk> {
        self.kinds.keys()
    }
}

/// What a member of an object may be.
pub(super) type Members = Vec<(String, Field)>;

/// What a value of a type looks like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// An object with these members.
    Members {
        /// By name.
        members: Members,
        /// Those that must be there.
        required: Vec<String>,
    },
    /// Anything but a list or an object is not refused.
    Leaf(Leaf),
    /// What the OpenAPI document says nothing of: CRDs' schemas.
    Any,
    /// An object whatever is in it.
    AnyObject,
    /// A schema, or a list of them (apiextensions, `JSONSchemaPropsOrArray`).
    SchemaOrArray(TypeIndex),
    /// A schema, or a boolean (`JSONSchemaPropsOrBool`).
    SchemaOrBool(TypeIndex),
    /// A schema, or a list of texts (`JSONSchemaPropsOrStringArray`).
    SchemaOrTexts(TypeIndex),
}

/// A value without members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Leaf {
    Text {
        one_of: Vec<String>,
    },
    /// RFC 3339.
    Moment,
    Bytes,
    Bool,
    Int32,
    Int64,
    Number,
    IntOrText,
    /// A quantity: text or a number.
    Quantity,
}

/// What a member is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Of(TypeIndex),
    Leaf(Leaf),
    List(Box<Field>),
    /// An object with any keys.
    Values(Box<Field>),
}
