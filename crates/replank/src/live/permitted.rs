//! What a command needs to be allowed to do.

use replank_live::{Connection, Rule, missing};

use crate::failure::Failure;

/// Asks whether everything may be done, in one namespace or in all, before anything is.
///
/// # Errors
/// Where it may not; the rules that are missing are named.
pub(crate) async fn permitted(
    connection: &Connection,
    namespace: Option<&str>,
    rules: &[Rule],
) -> Result<(), Failure> {
    let missing = missing(connection, namespace, rules).await?;
    if missing.is_empty() {
        return Ok(());
    }
    let named: Vec<String> = missing
        .iter()
        .map(|rule| {
            let group = if rule.group.is_empty() { String::new() } else { format!(".{}", rule.group) };
            format!("{} {}{group}", rule.verbs.join(", "), rule.resource)
        })
        .collect();
    let rules: Vec<String> =
        missing.iter().map(|rule| replank_live::Missing::from(rule).to_string()).collect();
    let place = namespace.map(|name| format!(" in namespace {name}")).unwrap_or_default();
    let message = format!(
        "the context {:?} may not do everything that is needed{place}: {}",
        connection.context(),
        named.join("; ")
    );
    Err(Failure::usage_message(message).next(format!("grant the rules:\n{}", rules.join("\n"))))
}
