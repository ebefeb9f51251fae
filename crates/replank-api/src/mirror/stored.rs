//! An object as it stands at one version.

use replank_model::object::Object;
use replank_model::object::meta::Meta;

/// An object as it stands at one version.
#[derive(Debug)]
pub struct Stored {
    /// The object.
    pub object: Object,
}

impl Stored {
    /// Its metadata.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        self.object.meta()
    }

    /// Its version.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.meta().resource_version.0
    }
}
