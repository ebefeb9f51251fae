//! Why an object is refused.

use std::fmt;

use crate::table::Gvk;

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Where in the object.
    pub path: Path,
    /// What is wrong there.
    pub wrong: Wrong,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.0.is_empty() { self.wrong.fmt(f) } else { write!(f, "{}: {}", self.path, self.wrong) }
    }
}

/// A place within an object, as Kubernetes writes it: `spec.rules[0].host`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path(pub(super) String);

impl Path {
    /// The member of a name.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        let plain = !key.is_empty()
            && key.chars().all(|char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '$'));
        Self(match (plain, self.0.is_empty()) {
            (true, true) => key.to_owned(),
            (true, false) => format!("{self}.{key}"),
            (false, _) => format!("{self}[{key}]"),
        })
    }

    /// The item of an index.
    #[must_use]
    pub fn item(&self, index: usize) -> Self {
        Self(format!("{self}[{index}]"))
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wrong {
    /// Kubernetes 1.36 serves no such thing.
    NotServed(Gvk),
    /// It has no version or no kind.
    NoObject,
    /// The type has no such field.
    UnknownField,
    /// A required field that is not there.
    Missing,
    /// Something else is expected.
    Type {
        /// What is expected, in words.
        expected: &'static str,
        /// What is there, in words.
        found: &'static str,
    },
    /// Nested further than is looked at.
    TooDeep,
    /// A number that the field's width cannot hold.
    OutOfRange,
    /// None of the values that the field may have.
    NotOneOf {
        /// What is there.
        found: String,
        /// What may be there.
        allowed: Vec<String>,
    },
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotServed(gvk) => write!(f, "Kubernetes 1.36 does not serve {gvk}"),
            Self::NoObject => f.write_str("apiVersion and kind are required"),
            Self::UnknownField => f.write_str("unknown field"),
            Self::Missing => f.write_str("required"),
            Self::Type { expected, found } => write!(f, "expected {expected}, found {found}"),
            Self::TooDeep => f.write_str("nested too deeply"),
            Self::OutOfRange => f.write_str("the number is too large"),
            Self::NotOneOf { found, allowed } => {
                write!(f, "`{found}`: expected one of {}", allowed.join(", "))
            }
        }
    }
}
