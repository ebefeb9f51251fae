//! What records and copies are called.

use replank_model::object::Kind;
use replank_model::object::meta::Key;
use replank_model::text::Name;
use replank_protocol::limits::{OBJECT_NAME_MAX, shortened};

/// Label of a twin, of its pods and of what its controller makes: the Deployment that it stands in for.
pub const TWIN_OF: &str = "replank.dev/twin-of";

/// Annotation on an autoscaler: the Deployment that it scales when no twin stands in.
pub(super) const SCALES: &str = "replank.dev/scales";

/// Bytes that a ConfigMap may hold (`MaxSecretSize`, which validation takes for both), less room for names and marks.
pub(super) const BYTES_MAX: usize = 1024 * 1024 - 16 * 1024;

/// The ConfigMap in which a migration writes.
#[must_use]
pub fn record_key(kind: Kind, of: &Key) -> Key {
    let name = format!("replank-migration-{}-{}", kind.as_str().to_lowercase(), of.name);
    Key { namespace: of.namespace.clone(), name: Name::from(shortened(&name, OBJECT_NAME_MAX)) }
}
