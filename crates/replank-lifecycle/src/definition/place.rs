//! Places as the API server writes them: `spec.versions[0].schema.openAPIV3Schema.properties[a].items`.

/// A place within a definition; or no place at all, while it is only asked whether anything is wrong: most definitions are right, and a path for each
/// part of a deep schema takes longer than to look at it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place(Option<String>);

impl Place {
    pub(super) fn root(name: &str) -> Self {
        Self(Some(name.to_owned()))
    }

    /// What has no place, and nothing within it.
    pub(super) fn untold() -> Self {
        Self(None)
    }

    /// A member that the type has.
    pub(super) fn child(&self, name: &str) -> Self {
        Self(self.0.as_ref().map(|path| format!("{path}.{name}")))
    }

    /// A member of a map.
    pub(super) fn key(&self, key: &str) -> Self {
        Self(self.0.as_ref().map(|path| format!("{path}[{key}]")))
    }

    pub(super) fn item(&self, index: usize) -> Self {
        Self(self.0.as_ref().map(|path| format!("{path}[{index}]")))
    }

    pub(super) fn into_text(self) -> String {
        self.0.unwrap_or_default()
    }
}
