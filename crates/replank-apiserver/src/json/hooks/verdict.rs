//! What a webhook answers, and what follows from it (apiserver `pkg/admission/plugin/webhook/{errors,request}`).

use serde_json::Value;

use super::configured::Hook;
use crate::server::{About, ApiError, Cause};

/// An answer that allows a write.
#[derive(Debug)]
pub(super) struct Verdict {
    /// What the object is changed by.
    pub(super) patch: Option<Value>,
    /// What the client is warned of.
    pub(super) warnings: Vec<String>,
}

/// Reads an answer; `None` where there is none and that does not matter, or the webhook is still to be called.
///
/// # Errors
/// What the webhook refuses the write with; 500 where it has not answered, and must.
pub(super) fn read(hook: &Hook, answer: Result<Value, String>) -> Result<Option<Verdict>, ApiError> {
    let review = match answer {
        Ok(Value::Null) => return Ok(None),
        Ok(review) => review,
        Err(_) if hook.ignores_failures => return Ok(None),
        Err(why) => return Err(failed(hook, &why)),
    };
    let response = &review["response"];
    let list = |name: &str| response.get(name).and_then(Value::as_array).into_iter().flatten();
    let warnings: Vec<String> = list("warnings").filter_map(Value::as_str).map(str::to_owned).collect();
    if response.get("allowed") != Some(&Value::Bool(true)) {
        return Err(denied(&hook.name, &response["status"]));
    }
    let patch = response.get("patch").and_then(Value::as_str).filter(|text| !text.is_empty());
    let patch = patch.map(|text| decoded(text).map_err(|why| broken(hook, &why))).transpose();
    let patch = match patch {
        Err(_) if hook.ignores_failures => return Ok(None),
        patch => patch?.filter(|patch| patch.as_array().is_none_or(|operations| !operations.is_empty())),
    };
    let kind = response.get("patchType").and_then(Value::as_str).unwrap_or("JSONPatch");
    if patch.is_some() && kind != "JSONPatch" {
        let why = format!("unsupported patch type {kind:?}");
        return if hook.ignores_failures { Ok(None) } else { Err(failed(hook, &why)) };
    }
    Ok(Some(Verdict { patch, warnings }))
}

/// The patch of an answer: JSON in base64.
fn decoded(text: &str) -> Result<Value, String> {
    let bytes = bytes(text).ok_or_else(|| "illegal base64 data".to_owned())?;
    serde_json::from_slice(&bytes).map_err(|error| match bytes.first() {
        Some(first) if !first.is_ascii_graphic() => {
            format!("invalid character '\\x{first:02x}' looking for beginning of value")
        }
        Some(_) | None => error.to_string(),
    })
}

/// Takes base64 apart.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let (mut held, mut count) = (0_u32, 0_u32);
    for letter in text.trim_end_matches('=').bytes() {
        let digit = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        held = (held << 6) | u32::from(digit);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.extend(u8::try_from((held >> count) & 0xff));
        }
    }
    Some(out)
}

fn broken(hook: &Hook, why: &str) -> ApiError {
    failed(hook, &format!("received undecodable patch in webhook response: {why}"))
}

/// 500: a webhook that must answer has not.
pub(super) fn failed(hook: &Hook, why: &str) -> ApiError {
    ApiError::internal_error(&format!("failed calling webhook {:?}: {why}", hook.name))
}

/// 400: a webhook that has effects is not asked about a dry run.
pub(super) fn no_dry_run(hook: &str) -> ApiError {
    ApiError::bad_request(&format!("admission webhook {hook:?} does not support dry run"))
}

/// What a webhook refuses with (`ToStatusErr`).
fn denied(hook: &str, status: &Value) -> ApiError {
    let text = |name: &str| status.get(name).and_then(Value::as_str).unwrap_or_default();
    let by = format!("admission webhook {hook:?} denied the request");
    let message = match (text("message"), text("reason")) {
        ("", "") => format!("{by} without explanation"),
        ("", reason) => format!("{by}: {reason}"),
        (message, _) => format!("{by}: {message}"),
    };
    let mut error = ApiError::bad_request(&message);
    error.is_foreign = true;
    error.reason = reason(text("reason"));
    let code = status.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    error.code = code.filter(|code| *code >= 400).unwrap_or(400);
    if let Some(details) = status.get("details").filter(|details| details.is_object()) {
        let of = |name: &str| details.get(name).and_then(Value::as_str).unwrap_or_default();
        let about = About { group: of("group").into(), kind: of("kind").into(), name: of("name").into() };
        error.about = Some(Box::new(about));
        error.retry_after_seconds = details.get("retryAfterSeconds").and_then(Value::as_i64);
        let causes = details.get("causes").and_then(Value::as_array).into_iter().flatten();
        let cause = |cause: &Value| {
            let of = |name: &str| cause.get(name).and_then(Value::as_str).unwrap_or_default();
            let field = Some(of("field").to_owned()).filter(|field| !field.is_empty());
            Cause { reason: reason(of("reason")), message: of("message").to_owned(), field }
        };
        error.causes = causes.map(cause).collect();
    }
    error
}

/// Reasons that the API knows; others are left out.
fn reason(text: &str) -> &'static str {
    const KNOWN: [&str; 34] = [
        "Unauthorized",
        "Forbidden",
        "NotFound",
        "AlreadyExists",
        "Conflict",
        "Gone",
        "Invalid",
        "ServerTimeout",
        "StoreReadError",
        "Timeout",
        "TooManyRequests",
        "BadRequest",
        "MethodNotAllowed",
        "NotAcceptable",
        "RequestEntityTooLarge",
        "UnsupportedMediaType",
        "InternalError",
        "Expired",
        "ServiceUnavailable",
        "FieldValueNotFound",
        "FieldValueRequired",
        "FieldValueDuplicate",
        "FieldValueInvalid",
        "FieldValueNotSupported",
        "FieldValueForbidden",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "InternalError",
        "FieldValueTypeInvalid",
        "UnexpectedServerResponse",
        "FieldManagerConflict",
        "ResourceVersionTooLarge",
        "NamespaceTerminating",
        "DisruptionBudget",
    ];
    KNOWN.into_iter().find(|known| *known == text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refusal_says_who_refuses_and_has_a_code_of_its_own() {
        let of = |status: Value| {
            let error = denied("a.example.com", &status);
            (error.code, error.reason, error.message)
        };
        let by = "admission webhook \"a.example.com\" denied the request";
        assert_eq!(of(Value::Null), (400, "", format!("{by} without explanation")));
        assert_eq!(
            of(json!({"code": 200, "reason": "Forbidden"})),
            (400, "Forbidden", format!("{by}: Forbidden"))
        );
        assert_eq!(of(json!({"code": 418, "message": "no"})), (418, "", format!("{by}: no")));
    }

    #[test]
    fn a_patch_is_json_in_base64() {
        assert_eq!(
            decoded("W3sib3AiOiJyZW1vdmUiLCJwYXRoIjoiL2EifV0="),
            Ok(json!([{"op": "remove", "path": "/a"}]))
        );
        assert_eq!(
            decoded("AAAA"),
            Err("invalid character '\\x00' looking for beginning of value".to_owned())
        );
        assert!(decoded("!").is_err());
    }
}
