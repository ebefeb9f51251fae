//! What a node objects.

/// One plugin's objection to one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Who objects.
    pub plugin: String,
    /// Whether removing pods could help.
    pub resolvable: bool,
    /// Why.
    pub reasons: Vec<String>,
}

pub(crate) fn fail(plugin: &str, resolvable: bool, reason: &str) -> Option<Failure> {
    Some(Failure { plugin: plugin.to_owned(), resolvable, reasons: vec![reason.to_owned()] })
}
