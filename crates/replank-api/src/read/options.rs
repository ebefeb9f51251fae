//! The options of lists and watches, and which of them go together (apimachinery `internalversion/validation`).

use std::num::IntErrorKind;

use replank_apiserver::{ApiError, Cause, ResourceName};

use crate::query::Query;

/// Which version of a collection is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// The latest.
    Latest,
    /// Any, the latest is best.
    Any,
    /// This one or a later one.
    NotOlderThan(u64),
    /// This one.
    Exact(u64),
}

/// Reads which version a list asks for.
///
/// # Errors
/// 400 where it is no number, 422 where options do not go together.
pub(super) fn of_list(query: &Query) -> Result<Wanted, ApiError> {
    check_list(query)?;
    let word = query.text("resourceVersionMatch");
    let Some(version) = query.text("resourceVersion") else { return Ok(Wanted::Latest) };
    let number =
        number(version).map_err(|why| ApiError::bad_request(&format!("invalid resource version: {why}")))?;
    let has_limit = query.number("limit").is_some_and(|limit| limit > 0);
    Ok(match (number, word) {
        (0, _) => Wanted::Any,
        (number, Some("Exact")) => Wanted::Exact(number),
        // A page of a version is a page of exactly that one.
        (number, None) if has_limit => Wanted::Exact(number),
        (number, _) => Wanted::NotOlderThan(number),
    })
}

/// Refuses options of a list that do not go together.
///
/// # Errors
/// 400 where one that is a number is none, 422.
pub(super) fn check_list(query: &Query) -> Result<(), ApiError> {
    numbers(query)?;
    let mut causes = Vec::new();
    let word = query.text("resourceVersionMatch");
    let version = query.text("resourceVersion");
    if let Some(word) = word {
        if version.is_none() {
            causes.push(forbidden("resourceVersionMatch", "is forbidden unless resourceVersion is provided"));
        }
        if query.text("continue").is_some() {
            causes.push(forbidden("resourceVersionMatch", "is forbidden when continue is provided"));
        }
        if !matches!(word, "Exact" | "NotOlderThan") {
            causes.push(unsupported(word, &["Exact", "NotOlderThan", ""]));
        }
        if word == "Exact" && version == Some("0") {
            let why = "\"exact\" is forbidden for resourceVersion \"0\"";
            causes.push(forbidden("resourceVersionMatch", why));
        }
    }
    if query.get("sendInitialEvents").is_some() {
        causes.push(forbidden("sendInitialEvents", "is forbidden for list"));
    }
    refuse(causes)
}

/// Where a watch begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begin {
    /// With what is there, as additions; then what comes.
    Objects,
    /// The same, with a bookmark that says where these end.
    List(u64),
    /// After a version.
    After(u64),
    /// With what comes.
    Latest,
}

/// Reads where a watch begins.
///
/// # Errors
/// 400 where the version is no number, 422 where options do not go together.
pub(super) fn of_watch(query: &Query) -> Result<Begin, ApiError> {
    numbers(query)?;
    let mut causes = Vec::new();
    let word = query.text("resourceVersionMatch");
    let initial = query.boolean("sendInitialEvents");
    match initial {
        Some(_) => {
            if word != Some("NotOlderThan") {
                causes.push(Cause::forbidden(
                    "resourceVersionMatch",
                    "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
                ));
            }
            if let Some(word) = word.filter(|word| *word != "NotOlderThan") {
                causes.push(unsupported(word, &["NotOlderThan"]));
            }
        }
        None => {
            if let Some(word) = word {
                let why = "is forbidden for watch unless sendInitialEvents is provided";
                causes.push(forbidden("resourceVersionMatch", why));
                if word != "NotOlderThan" {
                    causes.push(unsupported(word, &["NotOlderThan"]));
                }
            }
        }
    }
    refuse(causes)?;
    if query.text("continue").is_some() {
        return refuse(vec![forbidden("resourceVersionMatch", "is forbidden when continue is provided")])
            .map(|()| Begin::Latest);
    }
    // A watch is begun with it as it is, and whoever fails to says no more than that.
    let version = query.text("resourceVersion").map(number).transpose();
    let version = version.map_err(|why| ApiError::internal(&why))?;
    Ok(match (initial, version) {
        (Some(true), version) => Begin::List(version.unwrap_or(0)),
        (Some(false), None) => Begin::Latest,
        (_, None | Some(0)) => Begin::Objects,
        (_, Some(version)) => Begin::After(version),
    })
}

/// Options that are numbers.
pub(super) fn numbers(query: &Query) -> Result<(), ApiError> {
    for name in ["limit", "timeoutSeconds"] {
        let Some(text) = query.text(name) else { continue };
        if let Err(error) = text.parse::<i64>() {
            let is_large = matches!(error.kind(), IntErrorKind::PosOverflow | IntErrorKind::NegOverflow);
            let why = if is_large { "value out of range" } else { "invalid syntax" };
            return Err(ApiError::bad_request(&format!("strconv.ParseInt: parsing {text:?}: {why}")));
        }
    }
    Ok(())
}

pub(super) fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| {
        format!(
            "resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax"
        )
    })
}

fn forbidden(field: &str, why: &str) -> Cause {
    Cause::forbidden(field, &format!("{field} {why}"))
}

fn unsupported(word: &str, supported: &[&str]) -> Cause {
    Cause::not_supported("resourceVersionMatch", word, supported)
}

fn refuse(causes: Vec<Cause>) -> Result<(), ApiError> {
    if causes.is_empty() {
        return Ok(());
    }
    let options = ResourceName {
        group: "meta.k8s.io".into(),
        plural: "listoptions".into(),
        kind: "ListOptions".into(),
    };
    Err(ApiError::invalid(options, "", causes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Result<Wanted, String> {
        of_list(&Query::read(text)).map_err(|error| error.message)
    }

    fn watch(text: &str) -> Result<Begin, String> {
        of_watch(&Query::read(text)).map_err(|error| error.message)
    }

    #[test]
    fn a_list_says_which_version_it_wants() {
        assert_eq!(list(""), Ok(Wanted::Latest));
        assert_eq!(list("resourceVersion=0"), Ok(Wanted::Any));
        assert_eq!(list("resourceVersion=7"), Ok(Wanted::NotOlderThan(7)));
        assert_eq!(list("resourceVersion=7&limit=5"), Ok(Wanted::Exact(7)));
        assert_eq!(list("resourceVersion=7&resourceVersionMatch=Exact"), Ok(Wanted::Exact(7)));
        assert_eq!(list("limit=x").unwrap_err(), "strconv.ParseInt: parsing \"x\": invalid syntax");
        let refused = list("resourceVersion=x").unwrap_err();
        assert!(
            refused.starts_with("invalid resource version: resourceVersion: Invalid value: \"x\""),
            "{refused}"
        );
        let refused = list("sendInitialEvents=true&resourceVersionMatch=NotOlderThan").unwrap_err();
        assert_eq!(
            refused,
            "ListOptions.meta.k8s.io \"\" is invalid: [resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden \
             unless resourceVersion is provided, sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list]"
        );
    }

    #[test]
    fn a_watch_says_where_it_begins() {
        assert_eq!(watch("resourceVersion=0"), Ok(Begin::Objects));
        assert_eq!(watch("resourceVersion=9"), Ok(Begin::After(9)));
        assert_eq!(watch("sendInitialEvents=true&resourceVersionMatch=NotOlderThan"), Ok(Begin::List(0)));
        assert_eq!(watch("sendInitialEvents=false&resourceVersionMatch=NotOlderThan"), Ok(Begin::Latest));
        let refused = watch("resourceVersionMatch=NotOlderThan&resourceVersion=0").unwrap_err();
        assert!(
            refused.ends_with("is forbidden for watch unless sendInitialEvents is provided"),
            "{refused}"
        );
    }
}
