//! Values of expressions.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use replank_model::quantity::Quantity;

/// A value.
#[derive(Clone, Debug)]
pub enum Val {
    /// `null`
    Null,
    /// `bool`
    Bool(bool),
    /// `int`
    Int(i64),
    /// `uint`
    Uint(u64),
    /// `double`
    Double(f64),
    /// `string`
    Text(Arc<str>),
    /// `bytes`
    Bytes(Arc<[u8]>),
    /// A list.
    List(Arc<List>),
    /// A map, or an object with fields.
    Map(Arc<BTreeMap<Key, Val>>),
    /// Nanoseconds.
    Duration(i128),
    /// Nanoseconds since 1970.
    Timestamp(i128),
    /// A value that may be absent.
    Optional(Option<Arc<Val>>),
    /// A type, by its name.
    Type(Arc<str>),
    /// A quantity.
    Quantity(Arc<Quantity>),
    /// A URL.
    Url(Arc<Url>),
    /// An IP address.
    Ip(IpAddr),
    /// A range of IP addresses: one of them, and the bits that all share.
    Cidr(IpAddr, u8),
    /// A named format.
    Format(&'static str),
    /// A semantic version.
    Semver(Arc<Semver>),
}

/// A list, and how its items are told apart.
#[derive(Clone, Debug, Default)]
pub struct List {
    /// Items.
    pub items: Vec<Val>,
    /// How they are told apart.
    pub kind: Identity,
}

/// How items of a list are told apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Identity {
    /// By their place.
    #[default]
    Place,
    /// By their value.
    Value,
    /// By keys.
    Keys(Arc<[String]>),
}

/// A key of a map.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// `bool`
    Bool(bool),
    /// `int`, and `uint` where it fits.
    Int(i64),
    /// `uint`
    Uint(u64),
    /// `string`
    Text(Arc<str>),
}

/// Parts of a URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Url {
    /// The whole.
    pub text: String,
    /// Such as `https`.
    pub scheme: String,
    /// With the port.
    pub host: String,
    /// As it is written.
    pub path: String,
    /// What stands behind the `?`.
    pub query: String,
}

/// A semantic version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Semver {
    /// Major, minor, patch.
    pub numbers: [u64; 3],
    /// What stands behind the `-`.
    pub before: Vec<String>,
}

/// Why an expression comes to nothing, in cel-go's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure(pub String);

impl Failure {
    /// Nothing can be done with values of these types.
    #[must_use]
    pub fn no_overload() -> Self {
        Self("no such overload".to_owned())
    }
}

impl Val {
    /// An optional with a value.
    #[must_use]
    pub fn some(value: Self) -> Self {
        Self::Optional(Some(Arc::new(value)))
    }

    /// A text.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Self::Text(text.into())
    }

    /// A list whose items are told apart by their place.
    #[must_use]
    pub fn list(items: Vec<Self>) -> Self {
        Self::List(Arc::new(List { items, kind: Identity::Place }))
    }

    /// A map with texts as keys.
    pub fn object(members: impl IntoIterator<Item = (String, Self)>) -> Self {
        let members = members.into_iter().map(|(name, value)| (Key::Text(name.into()), value));
        Self::Map(Arc::new(members.collect()))
    }

    /// The key of a map that it is; `None` for what cannot be one.
    #[must_use]
    pub fn key(&self) -> Option<Key> {
        match self {
            Self::Bool(flag) => Some(Key::Bool(*flag)),
            Self::Int(number) => Some(Key::Int(*number)),
            Self::Uint(number) => Some(i64::try_from(*number).map_or(Key::Uint(*number), Key::Int)),
            #[expect(clippy::cast_possible_truncation, reason = "it is whole, and within the bounds")]
            Self::Double(number) if number.fract() == 0.0 && number.abs() < 9e18 => {
                Some(Key::Int(*number as i64))
            }
            Self::Text(text) => Some(Key::Text(text.clone())),
            Self::Double(_)
            | Self::Null
            | Self::Bytes(_)
            | Self::List(_)
            | Self::Map(_)
            | Self::Duration(_)
            | Self::Timestamp(_)
            | Self::Optional(_)
            | Self::Type(_)
            | Self::Quantity(_)
            | Self::Url(_)
            | Self::Ip(_)
            | Self::Cidr(..)
            | Self::Format(_)
            | Self::Semver(_) => None,
        }
    }

    /// The name of its type.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::Text(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::Optional(_) => "optional_type",
            Self::Type(_) => "type",
            Self::Quantity(_) => "kubernetes.Quantity",
            Self::Url(_) => "kubernetes.URL",
            Self::Ip(_) => "net.IP",
            Self::Cidr(..) => "net.CIDR",
            Self::Format(_) => "kubernetes.NamedFormat",
            Self::Semver(_) => "kubernetes.Semver",
        }
    }

    /// Whether it is the zero of its type.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        match self {
            Self::Null => true,
            Self::Bool(flag) => !flag,
            Self::Int(number) => *number == 0,
            Self::Uint(number) => *number == 0,
            Self::Double(number) => *number == 0.0,
            Self::Text(text) => text.is_empty(),
            Self::Bytes(bytes) => bytes.is_empty(),
            Self::List(list) => list.items.is_empty(),
            Self::Map(map) => map.is_empty(),
            Self::Duration(nanos) => *nanos == 0,
            Self::Optional(of) => of.is_none(),
            Self::Timestamp(_)
            | Self::Type(_)
            | Self::Quantity(_)
            | Self::Url(_)
            | Self::Ip(_)
            | Self::Cidr(..)
            | Self::Format(_)
            | Self::Semver(_) => false,
        }
    }
}

impl Key {
    /// As a value.
    #[must_use]
    pub fn value(&self) -> Val {
        match self {
            Self::Bool(flag) => Val::Bool(*flag),
            Self::Int(number) => Val::Int(*number),
            Self::Uint(number) => Val::Uint(*number),
            Self::Text(text) => Val::Text(text.clone()),
        }
    }
}
