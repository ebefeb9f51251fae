//! Names of new instances and nodes, in the style of those that are there.

use replank_model::object::cloud::Instance;
use replank_model::object::meta::Key;
use replank_model::text::{InstanceId, NodeName};
use replank_model::view::View;

use crate::context::Ctx;
use replank_apiserver::draw::{Draw, Purpose};

/// An EC2 instance id.
pub(crate) fn instance_id(draw: Draw) -> InstanceId {
    InstanceId::from(format!("i-0{:016x}", draw.0))
}

/// A free node name: a private DNS name where the group's nodes have such (`ip-10-0-1-2.…`), else the group's name and
/// a suffix.
pub(super) fn node_name(ctx: &Ctx<'_>, instance: &Instance) -> NodeName {
    let sibling = sibling_name(ctx.view(), instance);
    free_name(ctx, sibling.as_deref(), instance.group.as_str(), &instance.id)
}

/// A free node name in the style of a sibling's, else of a prefix.
pub(crate) fn free_name(ctx: &Ctx<'_>, sibling: Option<&str>, prefix: &str, id: &InstanceId) -> NodeName {
    let style = sibling.and_then(DnsStyle::of);
    let mut attempt = 0;
    loop {
        let drawn = ctx.draws.draw(id.as_str(), Purpose::Name, attempt).0;
        let name = match &style {
            Some(style) => style.name(drawn),
            None => format!("{prefix}-{:05x}", drawn & 0xf_ffff),
        };
        if ctx.view().nodes.find(&Key::cluster(name.as_str())).is_none() {
            return NodeName::from(name);
        }
        attempt += 1;
    }
}

/// The name of a node of the same group, in the same zone if there is one.
fn sibling_name(view: &View, instance: &Instance) -> Option<String> {
    let siblings =
        || view.instances().values().filter(|other| other.group == instance.group && other.node.is_some());
    let near = siblings().find(|other| other.zone == instance.zone);
    near.or_else(|| siblings().next()).and_then(|other| other.node.as_ref()).map(ToString::to_string)
}

/// `ip-10-21-<a>-<b><suffix>`.
struct DnsStyle {
    network: String,
    suffix: String,
}

impl DnsStyle {
    fn of(name: &str) -> Option<Self> {
        let rest = name.strip_prefix("ip-")?;
        let end = rest.find('.').unwrap_or(rest.len());
        let octets: Vec<&str> = rest[..end].split('-').collect();
        let is_number = |octet: &&str| octet.parse::<u8>().is_ok();
        if octets.len() != 4 || !octets.iter().all(is_number) {
            return None;
        }
        Some(Self { network: format!("ip-{}-{}", octets[0], octets[1]), suffix: rest[end..].to_owned() })
    }

    fn name(&self, drawn: u64) -> String {
        format!("{}-{}-{}{}", self.network, drawn & 0xff, (drawn >> 8) & 0xff, self.suffix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_dns_names_keep_their_network_and_domain() {
        let style =
            DnsStyle::of("ip-10-21-0-228.ap-northeast-1.compute.internal").expect("a private DNS name");
        assert_eq!(style.name(0x0102), "ip-10-21-2-1.ap-northeast-1.compute.internal");
        assert!(DnsStyle::of("node-1").is_none());
        assert!(DnsStyle::of("ip-10-21-0-999").is_none());
    }
}
