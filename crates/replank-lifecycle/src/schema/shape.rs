//! What a value may look like.

use super::{Members, TypeIndex};

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
