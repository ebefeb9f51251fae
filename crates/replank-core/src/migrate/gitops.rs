//! What marks an object as one that Argo CD, Flux or Helm keeps: a copy must not carry it.

use replank_facts::keeper::{HELM, INSTANCE, KUSTOMIZE};
use replank_model::labels::TextMap;

/// Labels without those by which such a tool, or Helm, identifies its own objects: it would prune a copy that carries them.
pub(super) fn unclaimed(labels: &TextMap) -> TextMap {
    let claims = |key: &str| {
        key == INSTANCE[0]
            || key == "app.kubernetes.io/managed-by"
            || key.starts_with(KUSTOMIZE)
            || key.starts_with(HELM)
    };
    let kept = labels.iter().filter(|(key, _)| !claims(key) && *key != INSTANCE[1]);
    kept.fold(TextMap::default(), |all, (key, value)| all.with(key, value))
}
