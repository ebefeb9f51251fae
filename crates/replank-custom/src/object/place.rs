//! Where in an object something is.

/// Path of a member.
pub(crate) fn at(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// The field of a cause: the object as a whole has none.
pub(super) fn place(path: &str) -> &str {
    if path.is_empty() { "<nil>" } else { path }
}
