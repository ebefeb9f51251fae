//! What the API server's answer to a write means (docs/effects.md, "Answers").

use std::time::Duration;

use replank_model::text::Text;
use replank_protocol::outcome::Refusal;
use serde_json::Value;

use super::line::Heard;

/// What an answer means.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Meaning {
    /// It is carried out; the object, or the Status, that was answered with.
    Done(Value),
    /// It is not.
    Refused(Refusal),
    /// It is not, because there are too many requests (API Priority and Fairness): it may be sent again after a while.
    Throttled(Option<Duration>),
    /// A JSON patch was not carried out, because one of its tests failed or because it is wrong: the answer does not tell which.
    Tested(String),
    /// Whether it is carried out is not known.
    Lost(String),
}

/// What a request was, as far as answers to it mean different things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    /// A JSON patch with tests.
    Patch,
    /// Anything else.
    Plain,
}

impl Heard {
    /// The message of its Status, or the beginning of its body.
    pub(super) fn message(&self) -> String {
        crate::Answer { code: self.code, body: self.body.clone(), date: None }.message()
    }
}

/// What an answer means. A webhook's denial comes first: it may have any code, a budget's and a conflict's among them.
pub(super) fn meaning(heard: &Heard, sort: Sort) -> Meaning {
    let body: Value = serde_json::from_slice(&heard.body).unwrap_or_default();
    if (200..300).contains(&heard.code) {
        return Meaning::Done(body);
    }
    let message = heard.message();
    if let Some(denied) = Refusal::denied(&message) {
        return Meaning::Refused(denied);
    }
    let text = Text::from(&*message);
    match (heard.code, sort) {
        (429, _) => match budgets(&body) {
            Some(causes) => Meaning::Refused(Refusal::Budget {
                message: Text::from(causes),
                retry_after_seconds: retry_after(heard).and_then(|wait| i64::try_from(wait.as_secs()).ok()),
            }),
            None => Meaning::Throttled(retry_after(heard)),
        },
        (409, _) => Meaning::Refused(Refusal::Conflict { message: text }),
        (404, _) => Meaning::Refused(Refusal::Gone { message: text }),
        (422, Sort::Patch) => Meaning::Tested(message),
        // What stands before the server may have passed the request on; the server's own time limit ends its answer and not what it does.
        (502..=504, _) => Meaning::Lost(format!("{}: {message}", heard.code)),
        (500, _) if is_etcds(&message) => Meaning::Lost(format!("500: {message}")),
        (code, _) => Meaning::Refused(Refusal::Failed { code, message: text }),
    }
}

/// What a disruption budget says, where the refusal is one's.
fn budgets(body: &Value) -> Option<String> {
    let causes = body["details"]["causes"].as_array()?;
    let of_budgets = causes.iter().filter(|cause| cause["reason"] == "DisruptionBudget");
    let words: Vec<&str> = of_budgets.map(|cause| cause["message"].as_str().unwrap_or_default()).collect();
    (!words.is_empty()).then(|| words.join("; "))
}

/// The store's own errors: a write that it did not confirm may be there (etcd `rpctypes`).
fn is_etcds(message: &str) -> bool {
    message.contains("etcdserver: request timed out") || message.contains("etcdserver: leader changed")
}

/// How long the server asks to wait: in whole seconds, in a header and in the Status.
pub(super) fn retry_after(heard: &Heard) -> Option<Duration> {
    let header = heard.headers.get(http::header::RETRY_AFTER).and_then(|value| value.to_str().ok());
    let header = header.and_then(|text| text.trim().parse::<u64>().ok());
    let body = || {
        let body: Value = serde_json::from_slice(&heard.body).ok()?;
        body["details"]["retryAfterSeconds"].as_u64()
    };
    header.or_else(body).map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use http::header::RETRY_AFTER;
    use serde_json::json;

    use super::*;

    /// An answer as Kubernetes 1.36.2 gives it.
    fn heard(code: u16, body: &Value) -> Heard {
        Heard { code, headers: HeaderMap::new(), body: body.to_string().into_bytes() }
    }

    fn status(code: u16, message: &str) -> Heard {
        heard(
            code,
            &json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message, "code": code}),
        )
    }

    fn budgets_answer() -> Value {
        json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "Cannot evict pod as it would violate the pod's disruption budget.", "reason": "TooManyRequests",
            "details": {"causes": [{"reason": "DisruptionBudget",
                "message": "The disruption budget b needs 3 healthy pods and has 3 currently"}]}, "code": 429})
    }

    fn plain(heard: &Heard) -> Meaning {
        meaning(heard, Sort::Plain)
    }

    #[test]
    fn a_budget_is_told_from_throttling_by_its_cause() {
        let words = "The disruption budget b needs 3 healthy pods and has 3 currently";
        let budget = |retry_after_seconds| {
            Meaning::Refused(Refusal::Budget { message: words.into(), retry_after_seconds })
        };
        assert_eq!(plain(&heard(429, &budgets_answer())), budget(None));
        // The budget's status lags behind its specification.
        let mut lagging = heard(429, &budgets_answer());
        lagging.headers.insert(RETRY_AFTER, "10".parse().expect("it is one"));
        assert_eq!(plain(&lagging), budget(Some(10)));
        let mut busy = status(429, "too many requests, please try again later.");
        assert_eq!(plain(&busy), Meaning::Throttled(None));
        busy.headers.insert(RETRY_AFTER, "1".parse().expect("it is one"));
        assert_eq!(plain(&busy), Meaning::Throttled(Some(Duration::from_secs(1))));
    }

    #[test]
    fn a_webhooks_denial_is_none_of_the_others_whatever_its_code() {
        let said = "admission webhook \"guard.example.com\" denied the request: not on a Friday";
        let denied =
            Refusal::Denied { webhook: "guard.example.com".into(), message: "not on a Friday".into() };
        for code in [400, 403, 404, 409, 422, 429, 500, 503] {
            assert_eq!(meaning(&status(code, said), Sort::Patch), Meaning::Refused(denied.clone()), "{code}");
        }
        let mut with_cause = budgets_answer();
        with_cause["message"] = said.into();
        assert_eq!(plain(&heard(429, &with_cause)), Meaning::Refused(denied));
    }

    #[test]
    fn what_the_server_did_not_confirm_is_not_known() {
        let lost = |heard: &Heard| matches!(plain(heard), Meaning::Lost(_));
        assert!(lost(&status(504, "Timeout: request did not complete within the allotted duration")));
        assert!(lost(&status(500, "etcdserver: request timed out")));
        assert!(lost(&status(503, "etcdserver: no leader")));
        // No Status, from what stands before the server.
        let gateway =
            Heard { code: 502, headers: HeaderMap::new(), body: b"<html>Bad Gateway</html>".to_vec() };
        assert_eq!(plain(&gateway), Meaning::Lost("502: <html>Bad Gateway</html>".into()));
    }

    #[test]
    fn refusals_keep_their_code_and_words() {
        let several = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
        let failed =
            |code, message: &str| Meaning::Refused(Refusal::Failed { code, message: message.into() });
        assert_eq!(plain(&status(500, several)), failed(500, several));
        let gone = "pods \"web-0\" not found";
        assert_eq!(plain(&status(404, gone)), Meaning::Refused(Refusal::Gone { message: gone.into() }));
        let other = "Operation cannot be fulfilled on pods \"web-0\": the UID in the precondition (x) does not match the UID in record (y). The object might have been deleted and then recreated";
        assert_eq!(plain(&status(409, other)), Meaning::Refused(Refusal::Conflict { message: other.into() }));
        let terminating = "pods \"web-0\" is forbidden: unable to create new content in namespace shop because it is being terminated";
        assert_eq!(plain(&status(403, terminating)), failed(403, terminating));
    }

    #[test]
    fn a_patch_that_was_not_carried_out_may_have_failed_a_test() {
        let words = "the server rejected our request due to an error in our request";
        assert_eq!(meaning(&status(422, words), Sort::Patch), Meaning::Tested(words.into()));
        assert!(matches!(plain(&status(422, words)), Meaning::Refused(Refusal::Failed { code: 422, .. })));
    }
}
