//! Objects of older API versions than the model reads: somebody above knows how each is said in a newer one.
//!
//! The model reads one version of each kind. What an older one took for granted, or had under another name, would be read
//! wrongly, or not at all where the group has changed. How kinds are converted is not this crate's business: the code that loads a
//! snapshot hands a [`Converter`] in, and what it did is counted in the summary.

use std::fmt;

use serde_json::Value;

/// Brings objects to the versions in which they are read.
pub trait Converter {
    /// Brings one object to the version in which its kind is read, in place.
    fn convert(&mut self, object: &mut Value) -> Converted;

    /// Whether what says that it is of this version and kind stays as it was written, be it a pod or a reference in its metadata.
    fn leaves(&mut self, api_version: &str, kind: &str) -> bool;

    /// Another one that converts in the same way: objects are read by several threads.
    fn another(&self) -> Box<dyn Converter + Send>;
}

/// What became of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Converted {
    /// It is of the version in which it is read, or of a kind that nobody converts.
    AsWritten,
    /// It was converted to another version, or got the present label keys.
    To(Conversion),
    /// It was not: it is as it was.
    Not {
        /// Why.
        why: String,
        /// Whether it can be read as it stands.
        stands: Stands,
    },
}

/// Whether an object that could not be converted can be read as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stands {
    /// Its kind is read under its group, or nobody reads it whatever its version: it stays.
    Read,
    /// Nobody knows its kind under its group: it is left out.
    Unknown,
}

/// What was said in older words, and in which it was read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Conversion {
    /// An object of one version, as another.
    Version {
        /// The kind.
        kind: String,
        /// `apiVersion` as it was written.
        from: String,
        /// The one in which it was read.
        to: String,
    },
    /// Labels under older keys, which got those of today beside them.
    Labels {
        /// The kind of the objects.
        kind: &'static str,
        /// The keys that are there.
        from: &'static str,
        /// Those that were read as well.
        to: &'static str,
    },
}

impl fmt::Display for Conversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version { kind, from, to } => write!(f, "{kind} of {from} as {to}"),
            Self::Labels { kind, from, to } => write!(f, "{kind} labels {from} as {to}"),
        }
    }
}

/// Leaves every object as it was written.
#[derive(Clone, Copy, Debug, Default)]
pub struct AsWritten;

impl Converter for AsWritten {
    fn convert(&mut self, _: &mut Value) -> Converted {
        Converted::AsWritten
    }

    fn leaves(&mut self, _: &str, _: &str) -> bool {
        true
    }

    fn another(&self) -> Box<dyn Converter + Send> {
        Box::new(*self)
    }
}
