//! IP addresses and ranges of them (apiserver `pkg/cel/library/{ip,cidr}.go`).

use std::net::IpAddr;

use super::part::{Made, failed};
use crate::value::Val;

pub(super) fn call(function: &str, values: &[Val]) -> Made {
    Some(match (function, values) {
        ("ip", [Val::Text(text)]) => match address(text) {
            Some(ip) => Ok(Val::Ip(ip)),
            None => failed(format!("IP Address {text:?} parse error during conversion from string")),
        },
        ("isIP", [Val::Text(text)]) => Ok(Val::Bool(address(text).is_some())),
        ("ip.isCanonical", [Val::Text(text)]) => match address(text) {
            Some(ip) => Ok(Val::Bool(ip.to_string() == **text)),
            None => failed(format!("IP Address {text:?} parse error during conversion from string")),
        },
        ("family", [Val::Ip(ip)]) => Ok(Val::Int(if ip.is_ipv4() { 4 } else { 6 })),
        ("isUnspecified", [Val::Ip(ip)]) => Ok(Val::Bool(ip.is_unspecified())),
        ("isLoopback", [Val::Ip(ip)]) => Ok(Val::Bool(ip.is_loopback())),
        ("isLinkLocalMulticast", [Val::Ip(ip)]) => Ok(Val::Bool(match ip {
            IpAddr::V4(ip) => ip.octets()[..3] == [224, 0, 0],
            IpAddr::V6(ip) => ip.segments()[0] & 0xff0f == 0xff02,
        })),
        ("isLinkLocalUnicast", [Val::Ip(ip)]) => Ok(Val::Bool(is_link_local(ip))),
        ("isGlobalUnicast", [Val::Ip(ip)]) => {
            let is_broadcast = matches!(ip, IpAddr::V4(ip) if ip.is_broadcast());
            let is_other = ip.is_unspecified() || ip.is_loopback() || ip.is_multicast() || is_link_local(ip);
            Ok(Val::Bool(!is_broadcast && !is_other))
        }
        ("cidr", [Val::Text(text)]) => match range(text) {
            Some((ip, bits)) => Ok(Val::Cidr(ip, bits)),
            None => failed(format!("network address parse error during conversion from string: {text:?}")),
        },
        ("isCIDR", [Val::Text(text)]) => Ok(Val::Bool(range(text).is_some())),
        ("containsIP", [Val::Cidr(ip, bits), other]) => {
            let other = match other {
                Val::Ip(other) => Some(*other),
                Val::Text(text) => address(text),
                _ => return None,
            };
            match other {
                Some(other) => Ok(Val::Bool(masked(*ip, *bits) == masked(other, *bits))),
                None => failed("IP Address parse error during conversion from string"),
            }
        }
        ("containsCIDR", [Val::Cidr(ip, bits), other]) => {
            let other = match other {
                Val::Cidr(other, of) => Some((*other, *of)),
                Val::Text(text) => range(text),
                _ => return None,
            };
            match other {
                Some((other, of)) => Ok(Val::Bool(of >= *bits && masked(*ip, *bits) == masked(other, *bits))),
                None => failed("network address parse error during conversion from string"),
            }
        }
        ("ip", [Val::Cidr(ip, _)]) => Ok(Val::Ip(*ip)),
        ("masked", [Val::Cidr(ip, bits)]) => Ok(Val::Cidr(masked(*ip, *bits)?, *bits)),
        ("prefixLength", [Val::Cidr(_, bits)]) => Ok(Val::Int((*bits).into())),
        _ => return None,
    })
}

/// An address; one of IPv4 in the form of IPv6 is none.
fn address(text: &str) -> Option<IpAddr> {
    let ip: IpAddr = text.parse().ok()?;
    let is_mapped = matches!(ip, IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some());
    (!is_mapped).then_some(ip)
}

fn range(text: &str) -> Option<(IpAddr, u8)> {
    let (ip, bits) = text.split_once('/')?;
    let ip = address(ip)?;
    let is_plain = !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit());
    let bits: u8 = bits.parse().ok().filter(|_| is_plain)?;
    (bits <= if ip.is_ipv4() { 32 } else { 128 }).then_some((ip, bits))
}

fn is_link_local(ip: &IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.segments()[0] & 0xffc0 == 0xfe80,
    }
}

/// An address with only so many bits; `None` where it has not so many.
fn masked(ip: IpAddr, bits: u8) -> Option<IpAddr> {
    let bits = u32::from(bits);
    match ip {
        IpAddr::V4(ip) if bits <= 32 => {
            let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
            Some(IpAddr::V4((u32::from(ip) & mask).into()))
        }
        IpAddr::V6(ip) if bits <= 128 => {
            let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
            Some(IpAddr::V6((u128::from(ip) & mask).into()))
        }
        IpAddr::V4(_) | IpAddr::V6(_) => None,
    }
}
