//! Names in expressions.

use crate::ast::{Expr, Node};

/// A name with dots, such as `optional.of`.
#[expect(clippy::wildcard_enum_match_arm, reason = "nothing else has the form of a name")]
pub(crate) fn dotted(of: &Expr) -> Option<String> {
    match &of.node {
        Node::Name(name) => Some(name.clone()),
        Node::Field { of, field, is_optional: false } => Some(format!("{}.{field}", dotted(of)?)),
        _ => None,
    }
}

/// Whether a name is that of a type.
pub(crate) fn is_type_name(name: &str) -> bool {
    matches!(
        name,
        "bool" | "int" | "uint" | "double" | "string" | "bytes" | "list" | "map" | "null_type" | "type"
    )
}
