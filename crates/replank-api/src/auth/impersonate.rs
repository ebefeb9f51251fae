//! Acting as somebody else (apiserver `pkg/endpoints/filters/impersonation`).

use hyper::header::HeaderMap;
use replank_apiserver::ApiError;

use super::attributes::Attributes;
use super::cover::quoted;
use super::rbac::Authorizer;
use super::refuse::denied;
use super::user::{ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, User, account_groups, account_of};
use crate::query::unescape;

/// What names of members of `extra` begin with, in headers.
const EXTRA: &str = "impersonate-extra-";

/// Whom the client wants to act as: itself where it names nobody.
///
/// # Errors
/// 400 where it names no user, 403 where it may not.
pub fn impersonated(authorizer: &Authorizer, user: User, headers: &HeaderMap) -> Result<User, ApiError> {
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
    for asked in asked(&wanted) {
        let verdict = authorizer.decide(&user, &asked);
        if !verdict.is_allowed {
            return Err(denied(&user, &asked, &verdict.reason));
        }
    }
    complete(&mut wanted);
    Ok(wanted)
}

/// What one must be allowed to do to act as a user.
fn asked(wanted: &User) -> Vec<Attributes> {
    let group = "authentication.k8s.io";
    let of = |resource: (&str, &str), name: &str| Attributes::of("impersonate", resource, "", name);
    let mut asked = vec![match account_of(&wanted.name) {
        Some((namespace, name)) => Attributes::of("impersonate", ("", "serviceaccounts"), namespace, name),
        None => of(("", "users"), &wanted.name),
    }];
    asked.extend(wanted.groups.iter().map(|name| of(("", "groups"), name)));
    for (key, values) in &wanted.extra {
        let resource = format!("userextras/{key}");
        let part = |value: &String| {
            let mut asked = of((group, &resource), value);
            if let super::attributes::Place::Resource { resource, part, .. } = &mut asked.place {
                "userextras".clone_into(resource);
                key.clone_into(part);
            }
            asked
        };
        asked.extend(values.iter().map(part));
    }
    if !wanted.uid.is_empty() {
        asked.push(of((group, "uids"), &wanted.uid));
    }
    asked
}

/// Adds the groups that everybody of a kind is in.
fn complete(user: &mut User) {
    if let Some((namespace, _)) = account_of(&user.name)
        && user.groups.is_empty()
    {
        user.groups = account_groups(namespace);
    }
    let is_known = user.groups.iter().any(|group| group == AUTHENTICATED || group == UNAUTHENTICATED);
    if is_known {
        return;
    }
    let group = if user.name == ANONYMOUS { UNAUTHENTICATED } else { AUTHENTICATED };
    user.groups.push(group.to_owned());
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
