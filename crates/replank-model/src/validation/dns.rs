//! How names are looked up and what the pod is called (`validatePodDNSConfig`, `ValidateHostAliases`,
//! `validatePodHostName`).

use std::net::IpAddr;

use super::error::{Causes, Shown};
use super::field::Field;
use super::{names, show};

/// Limits of the C library's resolver.
const NAMESERVERS_MAX: usize = 3;
const SEARCHES_MAX: usize = 32;
const SEARCH_BYTES_MAX: usize = 2_048;

/// The resolver's configuration.
pub(super) fn config(spec: &Field<'_>, causes: &mut Causes) {
    let config = spec.child("dnsConfig");
    let servers = config.child("nameservers");
    if spec.child("dnsPolicy").text() == "None" {
        if !config.is_set() {
            return causes.required(config.path, "must provide `dnsConfig` when `dnsPolicy` is None");
        }
        if servers.is_empty() {
            let why = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            return causes.required(servers.path, why);
        }
    }
    if servers.len() > NAMESERVERS_MAX {
        let why = format!("must not have more than {NAMESERVERS_MAX} nameservers");
        causes.invalid(&servers.path, show::texts(servers.value), why);
    }
    servers.items().for_each(|server| address(&server, causes));
    let searches = config.child("searches");
    if searches.len() > SEARCHES_MAX {
        let why = format!("must not have more than {SEARCHES_MAX} search paths");
        causes.invalid(&searches.path, show::texts(searches.value), why);
    }
    let bytes = searches.texts().map(|search| search.len() + 1).sum::<usize>().saturating_sub(1);
    if bytes > SEARCH_BYTES_MAX {
        let why = format!(
            "must not have more than {SEARCH_BYTES_MAX} characters (including spaces) in the search list"
        );
        causes.invalid(&searches.path, show::texts(searches.value), why);
    }
    for search in searches.items().filter(|search| search.text() != ".") {
        let text = search.text().strip_suffix('.').unwrap_or(search.text());
        causes.broken_rules(&search.path, text, names::underscore_subdomain(text));
    }
    for option in config.child("options").items() {
        if option.child("name").is_empty() {
            causes.required(option.path, "must not be empty");
        }
    }
}

/// An address, with the strictness that is on by default in 1.36 (`IsValidIPForLegacyField`).
fn address(field: &Field<'_>, causes: &mut Causes) {
    let text = field.text();
    let why = match text.parse() {
        Ok(IpAddr::V4(_)) => return,
        Ok(IpAddr::V6(address)) if address.to_ipv4_mapped().is_none() => return,
        Ok(IpAddr::V6(_)) => "must not be an IPv4-mapped IPv6 address",
        Err(_) if has_leading_zeros_only(text) => "must not have leading 0s",
        Err(_) => "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
    };
    causes.invalid(&field.path, Shown::text(text), why);
}

/// Whether it would be an address without the zeros before its numbers.
fn has_leading_zeros_only(text: &str) -> bool {
    let (six, four) = text.rsplit_once(':').map_or(("", text), |(six, four)| (six, four));
    let trim = |part: &str| match part.trim_start_matches('0') {
        "" if !part.is_empty() => "0".to_owned(),
        rest => rest.to_owned(),
    };
    let parts: Vec<String> = four.split('.').map(trim).collect();
    let colon = if six.is_empty() && !text.contains(':') { "" } else { ":" };
    parts.len() == 4 && format!("{six}{colon}{}", parts.join(".")).parse::<IpAddr>().is_ok()
}

/// Names for addresses.
pub(super) fn host_aliases(field: &Field<'_>, causes: &mut Causes) {
    for alias in field.items() {
        address(&alias.child("ip"), causes);
        alias.child("hostnames").items().for_each(|name| names::subdomain_at(&name, causes));
    }
}

/// A host name that replaces all others.
pub(super) fn host_name_override(spec: &Field<'_>, causes: &mut Causes) {
    let Some(name) = spec.child("hostnameOverride").set() else { return };
    if spec.child("setHostnameAsFQDN").is_true() {
        causes.forbidden(&name.path, "may not be specified when setHostnameAsFQDN is true");
    }
    if spec.child("hostNetwork").is_true() {
        causes.forbidden(&name.path, "may not be specified when hostNetwork is true");
    }
    if name.len() > 64 {
        causes.too_long(&name.path, 64);
    }
    names::subdomain_at(&name, causes);
}
