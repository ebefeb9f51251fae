//! Logs of containers that do not run: one line, where a kubelet would have some.

use replank_apiserver::{ApiError, Cause, ResourceName};
use replank_model::time::Time;
use serde_json::Value;

use crate::query::Query;

/// v1 PodLogOptions, as far as they decide what is answered.
#[derive(Debug, Default)]
pub(super) struct LogOptions {
    previous: bool,
    tail_lines: Option<i64>,
    limit_bytes: Option<i64>,
}

impl LogOptions {
    /// Reads what a request asks for.
    ///
    /// # Errors
    /// 400 for what is no number or time, 422 for what is out of range (`ValidatePodLogOptions`).
    pub(super) fn read(pod: &str, query: &Query) -> Result<Self, ApiError> {
        let tail_lines = number(query, "tailLines")?;
        let limit_bytes = number(query, "limitBytes")?;
        let since = number(query, "sinceSeconds")?;
        let moment = query.text("sinceTime");
        if let Some(text) = moment.filter(|text| text.parse::<Time>().is_err()) {
            return Err(ApiError::bad_request(&format!(
                "parsing time {text:?} as \"2006-01-02T15:04:05Z07:00\": cannot parse {text:?} as \"2006\""
            )));
        }
        let mut causes = Vec::new();
        let mut refuse = |field: &str, number: i64, why: &str| {
            causes.push(Cause::invalid(field, &number.to_string(), why));
        };
        if let Some(lines) = tail_lines.filter(|lines| *lines < 0) {
            refuse("tailLines", lines, "must be greater than or equal to 0");
        }
        if let Some(bytes) = limit_bytes.filter(|bytes| *bytes < 1) {
            refuse("limitBytes", bytes, "must be greater than 0");
        }
        match (since, moment) {
            (Some(_), Some(_)) => {
                let why = "at most one of `sinceTime` or `sinceSeconds` may be specified";
                causes.push(Cause::forbidden("[]", why));
            }
            (Some(seconds), None) if seconds < 1 => refuse("sinceSeconds", seconds, "must be greater than 0"),
            (Some(_) | None, Some(_) | None) => {}
        }
        if query.get("stream").is_some() {
            causes.push(Cause::forbidden("stream", "may not be specified"));
        }
        if !causes.is_empty() {
            let options =
                ResourceName { group: "".into(), plural: "pods".into(), kind: "PodLogOptions".into() };
            return Err(ApiError::invalid(options, pod, causes));
        }
        Ok(Self { previous: query.is_set("previous"), tail_lines, limit_bytes })
    }
}

fn number(query: &Query, name: &str) -> Result<Option<i64>, ApiError> {
    let Some(text) = query.text(name) else { return Ok(None) };
    match text.parse() {
        Ok(number) => Ok(Some(number)),
        Err(_) => {
            let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
            let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            let why = if is_number { "value out of range" } else { "invalid syntax" };
            Err(ApiError::bad_request(&format!("strconv.ParseInt: parsing {text:?}: {why}")))
        }
    }
}

/// The log of a container.
///
/// # Errors
/// 400 where a kubelet would have none: the container waits to be started, or has not run before (kubelet `validateContainerLogStatus`).
pub(super) fn text(pod: &Value, container: &str, options: &LogOptions) -> Result<String, ApiError> {
    let name = pod.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let status = ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"].into_iter();
    let status = status.filter_map(|list| pod.get("status")?.get(list)?.as_array()).flatten();
    let status = status.into_iter().find(|status| status["name"] == container);
    let has_ended = status.is_some_and(|status| status.pointer("/lastState/terminated").is_some());
    let of = format!("container {container:?} in pod {name:?}");
    if options.previous && !has_ended {
        return Err(ApiError::bad_request(&format!("previous terminated {of} not found")));
    }
    let waiting = status.and_then(|status| status.pointer("/state/waiting")).filter(|_| !has_ended);
    if let Some(waiting) = waiting {
        let why = match waiting["reason"].as_str().unwrap_or_default() {
            "ErrImagePull" => "image can't be pulled",
            "ImagePullBackOff" => "trying and failing to pull image",
            reason => reason,
        };
        return Err(ApiError::bad_request(&format!("{of} is waiting to start: {why}")));
    }
    if options.tail_lines == Some(0) {
        return Ok(String::new());
    }
    let mut line = format!(
        "containers are simulated and nothing runs: container {container:?} of pod {name:?} writes no log\n"
    );
    let limit = options.limit_bytes.and_then(|bytes| usize::try_from(bytes).ok());
    if let Some(limit) = limit.filter(|limit| line.is_char_boundary(*limit)) {
        line.truncate(limit);
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn options_are_refused_as_upstream_refuses_them() {
        let why = |query: &str| {
            LogOptions::read("p", &Query::read(query)).err().map(|error| (error.code, error.message))
        };
        assert_eq!(why("tailLines=5&limitBytes=7&sinceTime=2020-01-01T00:00:00Z"), None);
        assert_eq!(
            why("tailLines=zz"),
            Some((400, "strconv.ParseInt: parsing \"zz\": invalid syntax".to_owned()))
        );
        let range = "PodLogOptions \"p\" is invalid: limitBytes: Invalid value: 0: must be greater than 0";
        assert_eq!(why("limitBytes=0"), Some((422, range.to_owned())));
        let both = "PodLogOptions \"p\" is invalid: []: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified";
        assert_eq!(why("sinceSeconds=1&sinceTime=2020-01-01T00:00:00Z"), Some((422, both.to_owned())));
    }

    #[test]
    fn a_container_that_waits_has_no_log_yet() {
        let pod = |state: Value| json!({"metadata": {"name": "p"}, "status": {"containerStatuses": [{"name": "a", "state": state}]}});
        let log = |state: Value, query: &str| {
            let options = LogOptions::read("p", &Query::read(query)).expect("they are fine");
            text(&pod(state), "a", &options).map_err(|error| error.message)
        };
        let waiting = json!({"waiting": {"reason": "ContainerCreating"}});
        let why = "container \"a\" in pod \"p\" is waiting to start: ContainerCreating";
        assert_eq!(log(waiting, ""), Err(why.to_owned()));
        let line = log(json!({"running": {}}), "").expect("it has one");
        assert!(line.contains("nothing runs") && line.lines().count() == 1, "{line}");
        assert_eq!(log(json!({"running": {}}), "limitBytes=5").as_deref(), Ok("conta"));
        assert_eq!(log(json!({"running": {}}), "tailLines=0").as_deref(), Ok(""));
        let gone = "previous terminated container \"a\" in pod \"p\" not found";
        assert_eq!(log(json!({"running": {}}), "previous=true"), Err(gone.to_owned()));
    }
}
