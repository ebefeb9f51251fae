//! What checks and audits find, whatever their rules: one object, why with numbers, what to do.

use std::fmt;

use replank_model::object::meta::Key;
use replank_model::text::Text;
use serde::{Serialize, Serializer};

use crate::remedy::Remedy;

/// One thing that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding<R> {
    /// Which rule found it.
    pub rule: R,
    /// How bad it is.
    pub severity: Severity,
    /// What it is about.
    pub object: ObjectName,
    /// What is wrong, with its numbers.
    pub reason: String,
    /// What to do.
    pub remedy: Remedy,
}

impl<R: Ord> Finding<R> {
    /// Sorts findings: the worst first, then by rule and object.
    pub fn sort(findings: &mut [Self]) {
        findings.sort_by(|a, b| {
            (a.severity, &a.rule, &a.object, &a.reason).cmp(&(b.severity, &b.rule, &b.object, &b.reason))
        });
    }
}

impl<R: fmt::Display> fmt::Display for Finding<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}: {}", self.severity, self.rule, self.object, self.reason)
    }
}

/// How bad a finding is, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// It cannot be done while it is so: the roll, or the placing of a pod.
    Blocking,
    /// Somebody will notice, work may be lost, or it takes long.
    Warning,
    /// Good to know.
    Info,
}

impl Severity {
    /// Whether a person has to do something about it beforehand.
    #[must_use]
    pub fn is_serious(self) -> bool {
        match self {
            Self::Blocking | Self::Warning => true,
            Self::Info => false,
        }
    }

    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Blocking => "blocking",
            Self::Warning => "warning",
            Self::Info => "info",
        }
    }
}

impl Serialize for Severity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Kind, namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectName {
    /// Kind.
    pub kind: Text,
    /// Namespace and name.
    pub key: Key,
}

impl ObjectName {
    /// The name of an object of a kind.
    pub fn new(kind: &str, key: Key) -> Self {
        Self { kind: Text::from(kind), key }
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.key)
    }
}

/// `1 pod`, `2 pods`.
pub fn pods(count: usize) -> String {
    counted(count, "pod")
}

/// `1 node`, `2 nodes`.
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
