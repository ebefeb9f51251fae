//! Protobuf messages, by their full names.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::table::table;
use rustc_hash::FxHashMap;
use serde::Deserialize;

/// A message's fields, by their JSON names.
pub type Message = BTreeMap<String, MessageField>;

/// Number, type (`.full.Name` for another message), whether it is repeated, and its form in Go.
#[derive(Clone, Debug, Deserialize)]
pub struct MessageField(pub u32, pub String, pub bool, pub Form);

/// How Go declares a field, as letters in the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub struct Form {
    /// `p`: a pointer, which may be absent; what is none is always on the wire.
    pub is_pointer: bool,
    /// `o`: JSON leaves it out when it is empty.
    pub is_omitted: bool,
    /// `z`: JSON leaves a zero time out.
    pub is_zero_omitted: bool,
    /// `i`: in JSON its members stand among those of the message.
    pub is_inline: bool,
}

impl From<String> for Form {
    fn from(letters: String) -> Self {
        let has = |letter: char| letters.contains(letter);
        Self { is_pointer: has('p'), is_omitted: has('o'), is_zero_omitted: has('z'), is_inline: has('i') }
    }
}

/// A message.
#[must_use]
pub fn message(name: &str) -> Option<&'static Message> {
    messages().get(name)
}

/// All messages.
#[must_use]
pub fn messages() -> &'static FxHashMap<String, Message> {
    static MESSAGES: LazyLock<FxHashMap<String, Message>> =
        LazyLock::new(|| table(include_bytes!("../data/proto.json.gz")));
    &MESSAGES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_has_numbers() {
        let pod = message("k8s.io.api.core.v1.Pod").expect("pods are served");
        assert_eq!((pod["metadata"].0, pod["spec"].0, pod["status"].0), (1, 2, 3));
        let spec = message("k8s.io.api.core.v1.PodSpec").expect("pods are served");
        assert_eq!(spec["containers"].1, ".k8s.io.api.core.v1.Container");
        assert!(spec["terminationGracePeriodSeconds"].3.is_pointer && !spec["nodeName"].3.is_pointer);
    }
}
