//! Lists, page by page.

use serde_json::Value;

use crate::connect::{Connection, JSON};
use crate::error::LiveError;
use crate::resource::Resource;

/// Objects in one page: what kubectl asks for (`--chunk-size`).
const PAGE: usize = 500;

/// Hands every object of a resource over, in the server's order, a page at a time; `query` narrows the list, as `&fieldSelector=…` does.
///
/// A list whose version is compacted away meanwhile is gone on with from the last object, with the token that the server gives for this: what was given
/// already is not given again.
///
/// # Errors
/// Where the server cannot be asked, says no, or its answer cannot be read.
pub(crate) async fn each(
    connection: &Connection,
    resource: &Resource,
    namespace: Option<&str>,
    query: &str,
    take: &mut dyn FnMut(Vec<Value>) -> Result<(), LiveError>,
) -> Result<(), LiveError> {
    let mut token = String::new();
    loop {
        let path = resource.path(namespace);
        let from = if token.is_empty() { String::new() } else { format!("&continue={token}") };
        let asked = format!("{path}?limit={PAGE}{query}{from}");
        let answer = connection.get(&asked, JSON).await?;
        let unreadable = |why: String| LiveError::Unreadable { path: asked.clone(), why };
        if answer.code == 410 && !token.is_empty() {
            let told: Value =
                serde_json::from_slice(&answer.body).map_err(|error| unreadable(error.to_string()))?;
            let next = told["metadata"]["continue"].as_str().unwrap_or_default();
            if next.is_empty() || next == token {
                connection.accepted(&asked, &answer, resource.rule())?;
            }
            next.clone_into(&mut token);
            continue;
        }
        connection.accepted(&asked, &answer, resource.rule())?;
        let mut told: Value =
            serde_json::from_slice(&answer.body).map_err(|error| unreadable(error.to_string()))?;
        let items = match told["items"].take() {
            Value::Array(items) => items,
            Value::Null => Vec::new(),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                return Err(unreadable("its items are no list".to_owned()));
            }
        };
        take(items)?;
        match told["metadata"]["continue"].as_str().filter(|next| !next.is_empty()) {
            Some(next) => next.clone_into(&mut token),
            None => return Ok(()),
        }
    }
}
