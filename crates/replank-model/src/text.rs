//! Shared text and typed names.
//!
//! Names, label values and reasons repeat thousands of times in one cluster, and every object that is changed is
//! copied. [`Text`] makes such a copy a counter increment. The typed names keep a node's name from being used as
//! a pod's: they differ in type, not in representation.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Immutable text that is cheap to clone and to compare with itself.
pub type Text = Arc<str>;

/// Whether two texts are equal. Most that are compared are copies of one another, which their address tells: the text
/// itself, somewhere else in memory, is not looked at.
#[must_use]
pub fn same(a: &Text, b: &Text) -> bool {
    Arc::ptr_eq(a, b) || **a == **b
}

/// Two words of 64 bits in the form of a random UUID (RFC 9562, version 4); six bits of them are lost.
#[must_use]
pub fn uuid(high: u64, low: u64) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let high = (high & !0xf000) | 0x4000;
    let low = (low & !(0b11 << 62)) | (0b10 << 62);
    let (high, low) = (high.to_be_bytes(), low.to_be_bytes());
    let mut text = String::with_capacity(36);
    for bytes in [&high[..4], &high[4..6], &high[6..], &low[..2], &low[2..]] {
        if !text.is_empty() {
            text.push('-');
        }
        for byte in bytes {
            text.push(char::from(DIGITS[usize::from(byte >> 4)]));
            text.push(char::from(DIGITS[usize::from(byte & 0xf)]));
        }
    }
    text
}

macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Default, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Text);

        impl $name {
            /// Wraps the text as it is; the API server is the one that validates names.
            #[must_use]
            pub fn new(text: impl Into<Text>) -> Self {
                Self(text.into())
            }

            /// The name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The shared text itself.
            #[must_use]
            pub fn text(&self) -> &Text {
                &self.0
            }

            /// Whether the name is empty (a cluster-scoped object's namespace is).
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.0.is_empty()
            }
        }

        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                same(&self.0, &other.0)
            }
        }

        impl Eq for $name {}

        impl PartialOrd for $name {
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }

        impl Ord for $name {
            fn cmp(&self, other: &Self) -> std::cmp::Ordering {
                if Arc::ptr_eq(&self.0, &other.0) { std::cmp::Ordering::Equal } else { self.0.cmp(&other.0) }
            }
        }

        impl std::hash::Hash for $name {
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                self.0.hash(state);
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(Text::from(text))
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(Text::from(text))
            }
        }

        impl From<Text> for $name {
            fn from(text: Text) -> Self {
                Self(text)
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                &*self.0 == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                &*self.0 == *other
            }
        }
    };
}

name_type! {
    /// A namespace's name; empty for cluster-scoped objects.
    Namespace
}
name_type! {
    /// An object's name within its kind and namespace.
    Name
}
name_type! {
    /// `metadata.uid`: tells two objects apart that had the same name at different times.
    Uid
}
name_type! {
    /// A node's name.
    NodeName
}
name_type! {
    /// A node group's name (an EKS managed node group, an Auto Scaling group, or a label's value).
    GroupName
}
name_type! {
    /// An instance's id in its cloud, such as `i-0123456789abcdef0`.
    InstanceId
}
name_type! {
    /// A message's id in its queue.
    MessageId
}
name_type! {
    /// An availability zone, as in the label `topology.kubernetes.io/zone`.
    Zone
}
name_type! {
    /// The identity of one run of a plan: written beside every cordon and taint of ours.
    RunId
}

impl From<&NodeName> for Name {
    fn from(node: &NodeName) -> Self {
        Self(node.0.clone())
    }
}

impl From<&Name> for NodeName {
    fn from(name: &Name) -> Self {
        Self(name.0.clone())
    }
}
