//! Ways of acting as somebody else: those that are bound to what is asked for (feature ConstrainedImpersonation, on by default since 1.36), and the
//! one that is as old as impersonation (apiserver `pkg/endpoints/filters/impersonation/mode.go`).

use std::sync::Mutex;

use replank_apiserver::ApiError;
use rustc_hash::FxHashMap;

use super::attributes::{Attributes, Place};
use super::rbac::Authorizer;
use super::refuse::denied;
use super::user::{ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED, User, account_groups, account_of};

/// From so many checks on it is asked first whether all may be impersonated.
const MANY: usize = 4;
/// The group that the resources of constrained impersonation are in.
const GROUP: &str = "authentication.k8s.io";
/// What tells which node a service account's token belongs to.
const NODE: &str = "authentication.kubernetes.io/node-name";

/// A way of acting as somebody else, in the order in which they are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// A service account acts as the node that its pod is on.
    AssociatedNode,
    /// As any node.
    ArbitraryNode,
    /// As a service account.
    ServiceAccount,
    /// As anybody else.
    UserInfo,
    /// As anybody, whatever is asked for.
    Legacy,
}

/// In which way somebody has last acted as somebody else: it is tried first, and named where none is allowed.
#[derive(Debug, Default)]
pub struct Ways(Mutex<FxHashMap<String, Mode>>);

/// So many are remembered, as upstream.
const WAYS_MAX: usize = 10_000;

impl Ways {
    pub(super) fn last(&self, user: &User) -> Option<Mode> {
        self.0.lock().expect("nobody panics while holding it").get(&user.name).copied()
    }

    pub(super) fn keep(&self, user: &User, mode: Mode) {
        let mut known = self.0.lock().expect("nobody panics while holding it");
        if known.len() >= WAYS_MAX {
            known.clear();
        }
        known.insert(user.name.clone(), mode);
    }
}

impl Mode {
    pub(super) const ALL: [Self; 5] =
        [Self::AssociatedNode, Self::ArbitraryNode, Self::ServiceAccount, Self::UserInfo, Self::Legacy];

    fn word(self) -> &'static str {
        match self {
            Self::AssociatedNode => "associated-node",
            Self::ArbitraryNode => "arbitrary-node",
            Self::ServiceAccount => "serviceaccount",
            Self::UserInfo => "user-info",
            Self::Legacy => "",
        }
    }

    /// Whether somebody can be impersonated in this way at all.
    fn fits(self, requestor: &User, wanted: &User) -> bool {
        let has_name_only = wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
        let node = node_of(&wanted.name);
        match self {
            Self::AssociatedNode => {
                let own = requestor.extra.get(NODE).filter(|values| values.len() == 1);
                let is_own = node.is_some_and(|node| own.is_some_and(|values| values[0] == node));
                has_name_only && is_own && account_of(&requestor.name).is_some()
            }
            Self::ArbitraryNode => has_name_only && node.is_some(),
            Self::ServiceAccount => has_name_only && account_of(&wanted.name).is_some(),
            Self::UserInfo => node.is_none() && account_of(&wanted.name).is_none(),
            Self::Legacy => true,
        }
    }

    /// Acts as somebody in this way; `None` where it is not for them.
    ///
    /// # Errors
    /// 403.
    pub(super) fn act(
        self,
        authorizer: &Authorizer,
        requestor: &User,
        wanted: &User,
        request: &Attributes,
    ) -> Option<Result<User, ApiError>> {
        self.fits(requestor, wanted).then(|| self.checked(authorizer, requestor, wanted, request))
    }

    fn checked(
        self,
        authorizer: &Authorizer,
        requestor: &User,
        wanted: &User,
        request: &Attributes,
    ) -> Result<User, ApiError> {
        let check = |asked: &Attributes| {
            let verdict = authorizer.decide(requestor, asked);
            if verdict.is_allowed { Ok(()) } else { Err(denied(requestor, asked, &verdict.reason)) }
        };
        let is_legacy = self == Self::Legacy;
        if !is_legacy {
            let verb = format!("impersonate-on:{}:{}", self.word(), request.verb);
            check(&Attributes { verb, ..request.clone() })?;
        }
        let verb = if is_legacy { "impersonate".to_owned() } else { format!("impersonate:{}", self.word()) };
        let group = if is_legacy { "" } else { GROUP };
        let of = |group: &str, resource: &str, name: &str| Attributes::of(&verb, (group, resource), "", name);
        let mut user = wanted.clone();
        let name = match (account_of(&wanted.name), node_of(&wanted.name).filter(|_| !is_legacy)) {
            (_, Some(node)) => {
                user.groups = vec!["system:nodes".to_owned()];
                of(group, "nodes", if self == Self::AssociatedNode { "*" } else { node })
            }
            (Some((namespace, name)), None) => {
                if wanted.groups.is_empty() {
                    user.groups = account_groups(namespace);
                }
                Attributes::of(&verb, (group, "serviceaccounts"), namespace, name)
            }
            (None, None) => of(group, "users", &wanted.name),
        };
        check(&name)?;
        if !wanted.uid.is_empty() {
            check(&of(GROUP, "uids", &wanted.uid))?;
        }
        if !is_legacy {
            let refused = |name: &str, why: &str| Err(denied(requestor, &of(group, "groups", name), why));
            if wanted.groups.iter().any(String::is_empty) {
                return refused("", "impersonating the empty string group is not allowed");
            }
            if wanted.groups.iter().any(|group| group == MASTERS) {
                return refused(MASTERS, "impersonating the system:masters group is not allowed");
            }
        }
        let has_all = |all: &Attributes, count: usize| !is_legacy && count >= MANY && check(all).is_ok();
        if !has_all(&of(group, "groups", "*"), wanted.groups.len()) {
            wanted.groups.iter().try_for_each(|name| check(&of(group, "groups", name)))?;
        }
        let extra = |key: &str, value: &str| {
            let mut asked = of(GROUP, "userextras", value);
            if let Place::Resource { part, .. } = &mut asked.place {
                key.clone_into(part);
            }
            asked
        };
        if !is_legacy
            && let Some(why) = wanted.extra.iter().find_map(|(key, values)| wrong_extra(key, values))
        {
            return Err(denied(requestor, &extra("", ""), &why));
        }
        let count = wanted.extra.values().map(Vec::len).sum::<usize>().max(wanted.extra.len());
        if !has_all(&extra("*", "*"), count) {
            for (key, values) in &wanted.extra {
                values.iter().try_for_each(|value| check(&extra(key, value)))?;
            }
        }
        complete(&mut user);
        Ok(user)
    }
}

/// The node that a user is.
fn node_of(user: &str) -> Option<&str> {
    let name = user.strip_prefix("system:node:")?;
    is_subdomain(name).then_some(name)
}

/// Whether a text is a DNS subdomain, as names of nodes are.
fn is_subdomain(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_label = |label: &str| {
        let bytes = label.as_bytes();
        bytes.first().is_some_and(|byte| is_letter(*byte))
            && bytes.last().is_some_and(|byte| is_letter(*byte))
            && bytes.iter().all(|byte| is_letter(*byte) || *byte == b'-')
    };
    text.len() <= 253 && text.split('.').all(is_label)
}

/// Adds the groups that everybody of a kind is in.
fn complete(user: &mut User) {
    let has = |user: &User, group: &str| user.groups.iter().any(|one| one == group);
    let group = if user.name == ANONYMOUS {
        UNAUTHENTICATED
    } else if has(user, UNAUTHENTICATED) {
        return;
    } else {
        AUTHENTICATED
    };
    if !has(user, group) {
        user.groups.push(group.to_owned());
    }
}

/// What constrained impersonation finds wrong with a member of `extra`.
fn wrong_extra(key: &str, values: &[String]) -> Option<String> {
    if key.is_empty() {
        return Some("impersonating the empty string key in extra is not allowed".to_owned());
    }
    let why = match key.split_once('/') {
        None => Some("must be a domain-prefixed path (such as \"acme.io/foo\")".to_owned()),
        Some((domain, path)) => {
            let is_domain = is_subdomain(domain);
            (!is_domain || path.is_empty())
                .then(|| "must be a domain-prefixed path (such as \"acme.io/foo\")".to_owned())
        }
    };
    if let Some(why) = why {
        return Some(format!(
            "impersonating an invalid key in extra is not allowed: extra.key: Invalid value: {key:?}: {why}"
        ));
    }
    if *key != key.to_lowercase() {
        return Some(format!("impersonating a non-lowercase key in extra is not allowed: {key:?}"));
    }
    if values.is_empty() {
        return Some("impersonating empty values in extra is not allowed".to_owned());
    }
    let has_empty = values.iter().any(String::is_empty);
    has_empty.then(|| "impersonating the empty string value in extra is not allowed".to_owned())
}
