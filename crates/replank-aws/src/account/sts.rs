//! Security Token Service: who asks.

use serde_json::json;

use super::names::Names;
use super::unknown::unknown;
use crate::call::Reply;
use crate::service::Service;

pub(crate) fn answer(names: &Names, action: &str) -> Reply {
    match action {
        "GetCallerIdentity" => Ok(json!({
            "Arn": format!("arn:aws:iam::{}:user/rehearsal", names.account()),
            "UserId": "AIDAREHEARSALREHEARSA",
            "Account": names.account(),
        })),
        _ => Err(unknown(Service::Sts, action)),
    }
}
