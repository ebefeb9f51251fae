//! Places as the API server writes them: `spec.versions[0].schema.openAPIV3Schema.properties[a].items`.

/// A place within a definition.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place(String);

impl Place {
    pub(super) fn root(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// A member that the type has.
    pub(super) fn child(&self, name: &str) -> Self {
        Self(format!("{}.{name}", self.0))
    }

    /// A member of a map.
    pub(super) fn key(&self, key: &str) -> Self {
        Self(format!("{}[{key}]", self.0))
    }

    pub(super) fn item(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    pub(super) fn into_text(self) -> String {
        self.0
    }
}
