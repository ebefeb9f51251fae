//! Labels of nodes under their old names, which follow those under the new ones (`reconcileNodeLabels` in
//! pkg/controller/nodelifecycle/node_lifecycle_controller.go).

use replank_apiserver::Api;
use replank_model::labels::Labels;
use replank_model::object::meta::Key;
use replank_model::object::node::Node;

/// The name that counts, and the old one.
const LABELS: [(&str, &str); 2] =
    [("kubernetes.io/os", "beta.kubernetes.io/os"), ("kubernetes.io/arch", "beta.kubernetes.io/arch")];

/// Writes those of a node.
pub(super) fn keep(api: &mut Api, key: &Key) {
    let Some(node) = api.view().nodes.by_key(key) else { return };
    if let Some(labels) = followed(&node.meta.labels) {
        drop(api.modify::<Node>(key, |node| node.meta.labels = labels));
    }
}

/// Labels in which the old names say what the new ones say; nothing where they do already.
fn followed(labels: &Labels) -> Option<Labels> {
    LABELS.iter().fold(None, |changed: Option<Labels>, (name, old)| {
        let known = changed.as_ref().unwrap_or(labels);
        let value = known.value(name).filter(|value| known.value(old) != Some(value));
        match value.map(|value| known.with(*old, value)) {
            Some(labels) => Some(labels),
            None => changed,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_names_follow_new_ones() {
        let labels = |pairs: &[(&str, &str)]| pairs.iter().copied().collect::<Labels>();
        let new = labels(&[("kubernetes.io/os", "linux"), ("beta.kubernetes.io/os", "windows")]);
        let right = labels(&[("kubernetes.io/os", "linux"), ("beta.kubernetes.io/os", "linux")]);
        assert_eq!(followed(&new), Some(right.clone()));
        assert_eq!(followed(&right), None);
        assert_eq!(
            followed(&labels(&[("beta.kubernetes.io/arch", "amd64")])),
            None,
            "an old name alone stays"
        );
    }
}
