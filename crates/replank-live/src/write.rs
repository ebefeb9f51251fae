//! A change of one object that no engine decides: what a person asks of a run.

use http::Method;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::connect::{Call, Connection, JSON, causes, date};
use crate::error::LiveError;

/// Patches an object of which this uid and version are known; the server answers 422 where it has another one by now.
///
/// # Errors
/// Where no answer comes.
pub async fn patch(
    connection: &Connection,
    path: &str,
    (uid, version): (&str, &str),
    change: &[Value],
) -> Result<Answer, LiveError> {
    let mut operations = vec![
        json!({"op": "test", "path": "/metadata/uid", "value": uid}),
        json!({"op": "test", "path": "/metadata/resourceVersion", "value": version}),
    ];
    operations.extend(change.iter().cloned());
    let body = Value::from(operations).to_string().into_bytes();
    let call = Call {
        method: Method::PATCH,
        path: format!("{path}?fieldManager=replank"),
        body: Some(("application/json-patch+json", body)),
    };
    answered(connection, &call).await
}

/// Creates an object in a collection.
///
/// # Errors
/// Where no answer comes.
pub async fn create(connection: &Connection, collection: &str, object: &Value) -> Result<Answer, LiveError> {
    let call = Call {
        method: Method::POST,
        path: format!("{collection}?fieldManager=replank"),
        body: Some((JSON, object.to_string().into_bytes())),
    };
    answered(connection, &call).await
}

/// Deletes an object of which this uid is known; the server answers 409 where another has its name by now.
///
/// # Errors
/// Where no answer comes.
pub async fn delete(connection: &Connection, path: &str, uid: &str) -> Result<Answer, LiveError> {
    let body =
        json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}}).to_string();
    let call = Call { method: Method::DELETE, path: path.to_owned(), body: Some((JSON, body.into_bytes())) };
    answered(connection, &call).await
}

async fn answered(connection: &Connection, call: &Call) -> Result<Answer, LiveError> {
    let (response, _) = connection.exchange(call, JSON).await?;
    let (code, date) = (response.status().as_u16(), date(response.headers()));
    let body = response.into_body().collect().await.map_err(|error| LiveError::Unreachable {
        server: connection.server().to_owned(),
        why: causes(&error),
    })?;
    Ok(Answer { code, body: body.to_bytes().to_vec(), date })
}
