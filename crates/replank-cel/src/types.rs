//! Types of expressions.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A type.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// Whatever a value turns out to be.
    Dyn,
    /// `null`
    Null,
    /// `bool`
    Bool,
    /// `int`
    Int,
    /// `uint`
    Uint,
    /// `double`
    Double,
    /// `string`
    Text,
    /// `bytes`
    Bytes,
    /// `google.protobuf.Duration`
    Duration,
    /// `google.protobuf.Timestamp`
    Timestamp,
    /// A list.
    List(Arc<Type>),
    /// A map.
    Map(Arc<Type>, Arc<Type>),
    /// An object with fields.
    Object(Arc<ObjectType>),
    /// A value that may be absent.
    Optional(Arc<Type>),
    /// A type of Kubernetes' own, such as `kubernetes.Quantity`.
    Own(&'static str),
    /// The type of types.
    Type,
    /// A type that a signature leaves open.
    Open(u8),
    /// A type that the checker has to find out.
    Unknown(usize),
}

/// An object's type.
#[derive(Debug, Default, PartialEq)]
pub struct ObjectType {
    /// What it is called in messages.
    pub name: String,
    /// Fields, by their names in expressions.
    pub fields: BTreeMap<String, Type>,
}

/// Type of a quantity.
pub const QUANTITY: Type = Type::Own("kubernetes.Quantity");
/// Type of a URL.
pub const URL: Type = Type::Own("kubernetes.URL");
/// Type of an IP address.
pub const IP: Type = Type::Own("net.IP");
/// Type of a range of IP addresses.
pub const CIDR: Type = Type::Own("net.CIDR");
/// Type of a named format.
pub const FORMAT: Type = Type::Own("kubernetes.NamedFormat");
/// Type of a semantic version.
pub const SEMVER: Type = Type::Own("kubernetes.Semver");
/// Type of the authorizer.
pub const AUTHORIZER: Type = Type::Own("kubernetes.authorization.Authorizer");
/// Type of a check of paths.
pub const PATH_CHECK: Type = Type::Own("kubernetes.authorization.PathCheck");
/// Type of a check of a group.
pub const GROUP_CHECK: Type = Type::Own("kubernetes.authorization.GroupCheck");
/// Type of a check of a resource.
pub const RESOURCE_CHECK: Type = Type::Own("kubernetes.authorization.ResourceCheck");
/// Type of what the authorizer has decided.
pub const DECISION: Type = Type::Own("kubernetes.authorization.Decision");

impl Type {
    /// A list of a type.
    #[must_use]
    pub fn list(of: Self) -> Self {
        Self::List(Arc::new(of))
    }

    /// A map.
    #[must_use]
    pub fn map(key: Self, value: Self) -> Self {
        Self::Map(Arc::new(key), Arc::new(value))
    }

    /// A value of a type that may be absent.
    #[must_use]
    pub fn optional(of: Self) -> Self {
        Self::Optional(Arc::new(of))
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dyn | Self::Unknown(_) => f.write_str("dyn"),
            Self::Null => f.write_str("null"),
            Self::Bool => f.write_str("bool"),
            Self::Int => f.write_str("int"),
            Self::Uint => f.write_str("uint"),
            Self::Double => f.write_str("double"),
            Self::Text => f.write_str("string"),
            Self::Bytes => f.write_str("bytes"),
            Self::Duration => f.write_str("google.protobuf.Duration"),
            Self::Timestamp => f.write_str("google.protobuf.Timestamp"),
            Self::List(of) => write!(f, "list({of})"),
            Self::Map(key, value) => write!(f, "map({key}, {value})"),
            Self::Object(of) => f.write_str(&of.name),
            Self::Optional(of) => write!(f, "optional_type({of})"),
            Self::Own(name) => f.write_str(name),
            Self::Type => f.write_str("type"),
            Self::Open(number) => write!(f, "<{}>", char::from(b'A' + number)),
        }
    }
}
