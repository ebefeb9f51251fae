//! Acting as somebody else (apiserver `pkg/endpoints/filters/impersonation`).

use hyper::header::HeaderMap;
use replank_apiserver::ApiError;

use super::attributes::Attributes;
use super::cover::quoted;
use super::modes::{Mode, Ways};
use super::rbac::Authorizer;
use super::user::User;
use crate::query::unescape;

/// What names of members of `extra` begin with, in headers.
const EXTRA: &str = "impersonate-extra-";

/// Whom the client wants to act as: itself where it names nobody.
///
/// # Errors
/// 400 where it names no user, 403 where it may not.
pub fn impersonated(
    (authorizer, ways): (&Authorizer, &Ways),
    user: User,
    headers: &HeaderMap,
    request: &Attributes,
) -> Result<User, ApiError> {
    let all = |name: &str| -> Vec<String> {
        let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        values.map(str::to_owned).collect()
    };
    let name = all("impersonate-user").into_iter().next().unwrap_or_default();
    let uid = all("impersonate-uid").into_iter().next().unwrap_or_default();
    let mut wanted = User { name, uid, groups: all("impersonate-group"), ..User::default() };
    for header in headers.keys() {
        if let Some(key) = header.as_str().strip_prefix(EXTRA) {
            wanted.extra.insert(unescape(key, false).to_ascii_lowercase(), all(header.as_str()));
        }
    }
    if wanted == User::default() {
        return Ok(user);
    }
    if wanted.name.is_empty() {
        return Err(ApiError::bad_request(&nameless(&wanted)));
    }
    let mut first = None;
    let known = ways.last(&user);
    let others = Mode::ALL.into_iter().filter(|mode| Some(*mode) != known);
    for mode in known.into_iter().chain(others) {
        match mode.act(authorizer, &user, &wanted, request) {
            Some(Ok(wanted)) => {
                ways.keep(&user, mode);
                return Ok(wanted);
            }
            Some(Err(error)) => {
                first.get_or_insert(error);
            }
            None => {}
        }
    }
    // The oldest way is for everybody: it has an error, if no other has.
    Err(first.unwrap_or_else(|| ApiError::internal("all impersonation modes failed")))
}

/// What is said where no user is named: the server prints its own structure.
fn nameless(wanted: &User) -> String {
    let groups: Vec<String> = wanted.groups.iter().map(|group| format!("{group:?}")).collect();
    let groups = match groups.as_slice() {
        [] => "[]string(nil)".to_owned(),
        groups => format!("[]string{{{}}}", groups.join(", ")),
    };
    let extra = match wanted.extra.is_empty() {
        true => "map[string][]string(nil)".to_owned(),
        false => {
            let members = wanted.extra.iter().map(|(key, values)| {
                let values = quoted(values).replace("\" \"", "\", \"");
                format!("{key:?}:[]string{{{}}}", values.trim_matches(['[', ']']))
            });
            format!("map[string][]string{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
    };
    format!(
        "requested &user.DefaultInfo{{Name:\"\", UID:{:?}, Groups:{groups}, Extra:{extra}}} without impersonating a user name",
        wanted.uid
    )
}
