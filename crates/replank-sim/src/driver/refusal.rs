//! What a client makes of the API server's answer.

use replank_apiserver::ApiError;
use replank_model::text::Text;
use replank_protocol::command::Refusal;

/// A webhook's denial comes first: it may have any code, a budget's and a conflict's among them. Only a 429 with the cause DisruptionBudget is a budget's.
pub(super) fn refusal(error: ApiError) -> Refusal {
    if let Some(denied) = Refusal::denied(&error.message) {
        return denied;
    }
    let message = Text::from(error.message);
    let is_budget = error.causes.iter().any(|cause| cause.reason == "DisruptionBudget");
    match error.code {
        429 if is_budget => {
            let causes: Vec<String> = error.causes.into_iter().map(|cause| cause.message).collect();
            Refusal::Budget {
                message: Text::from(causes.join("; ")),
                retry_after_seconds: error.retry_after_seconds,
            }
        }
        409 => Refusal::Conflict { message },
        404 => Refusal::Gone { message },
        code => Refusal::Failed { code, message },
    }
}

/// What was decided on is not so any more.
pub(super) fn conflict(message: String) -> Refusal {
    Refusal::Conflict { message: Text::from(message) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use replank_apiserver::Cause;

    fn answer(code: u16, message: &str) -> ApiError {
        ApiError { code, message: message.to_owned(), ..ApiError::bad_request("") }
    }

    #[test]
    fn a_webhook_denies_with_any_code() {
        for code in [400, 403, 404, 409, 429, 500] {
            let said = "admission webhook \"guard.example.com\" denied the request: not on a Friday";
            let denied =
                Refusal::Denied { webhook: "guard.example.com".into(), message: "not on a Friday".into() };
            assert_eq!(refusal(answer(code, said)), denied, "{code}");
        }
        let said = "admission webhook \"guard.example.com\" denied the request without explanation";
        let denied =
            Refusal::Denied { webhook: "guard.example.com".into(), message: "without explanation".into() };
        assert_eq!(refusal(answer(400, said)), denied);
    }

    #[test]
    fn a_webhook_s_429_is_no_budget_s() {
        let cause =
            Cause { reason: "DisruptionBudget", message: "the webhook's words".to_owned(), field: None };
        let mut error = answer(429, "admission webhook \"w\" denied the request: slow down");
        error.causes.push(cause.clone());
        assert!(matches!(refusal(error), Refusal::Denied { .. }));
        let mut error = answer(429, "Cannot evict pod as it would violate the pod's disruption budget.");
        error.causes.push(cause);
        assert!(matches!(refusal(error), Refusal::Budget { .. }));
        assert!(matches!(refusal(answer(429, "slow down")), Refusal::Failed { code: 429, .. }));
    }

    #[test]
    fn a_webhook_that_does_not_answer_denies_nothing() {
        let said = "Internal error occurred: failed calling webhook \"w\": the server could not find the requested resource";
        assert!(matches!(refusal(answer(500, said)), Refusal::Failed { code: 500, .. }));
        let quoted = "pods \"x\" is forbidden: somebody said admission webhook \"w\" denied the request: no";
        assert!(matches!(refusal(answer(403, quoted)), Refusal::Failed { code: 403, .. }));
    }
}
