//! Who a client is, by what it shows.

use hyper::header::{AUTHORIZATION, HeaderMap};
use replank_model::time::Time;

use super::claims::Claims;
use super::user::User;
use crate::mirror::Snapshot;
use crate::pki::Identity;

/// Who a client is; `None` where it shows something that is worth nothing. Who shows nothing is anonymous.
#[must_use]
pub fn authenticate(
    identity: &Identity,
    headers: &HeaderMap,
    snapshot: &Snapshot,
    now: Time,
) -> Option<User> {
    let shown = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let bearer = shown.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let Some(token) = bearer.map(|(_, token)| token.trim()).filter(|token| !token.is_empty()) else {
        return Some(User::anonymous());
    };
    token_user(identity, token, &[], snapshot, now).ok().map(|(user, _)| user)
}

/// The user of a token, for some audiences (none: the server's own), and for which of them it is.
///
/// # Errors
/// Why it is worth nothing.
pub(crate) fn token_user(
    identity: &Identity,
    token: &str,
    audiences: &[String],
    snapshot: &Snapshot,
    now: Time,
) -> Result<(User, Vec<String>), String> {
    if identity.accepts(token) {
        return Ok((User::admin(), Vec::new()));
    }
    if let Some(user) = identity.outside.as_ref().and_then(|outside| outside.user(token)) {
        return Ok((user, Vec::new()));
    }
    let claims = identity.signer.verify(token).ok_or_else(String::new)?;
    let claims: Claims = serde_json::from_value(claims).map_err(|_| String::new())?;
    claims.user(audiences, snapshot, now)
}
