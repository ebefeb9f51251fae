//! What `kubectl apply` writes on an object.

/// The annotation (kubectl, apply.go: LastAppliedConfigAnnotation).
pub(super) const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
