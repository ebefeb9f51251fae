//! Protobuf messages, by their full names.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::table::table;
use rustc_hash::FxHashMap;
use serde::Deserialize;

/// A message's fields, by their JSON names.
pub type Message = BTreeMap<String, MessageField>;

/// Number, type (`.full.Name` for another message) and whether it is repeated.
#[derive(Clone, Debug, Deserialize)]
pub struct MessageField(pub u32, pub String, pub bool);

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
    }
}
