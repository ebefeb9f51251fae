//! EndpointSlices: what `topology` says has fields of its own (`pkg/apis/discovery/v1beta1/conversion.go`).

use super::{Hold, Note, Work};
use crate::table::Gvk;
use crate::tree::{Entry, Tree};

const ZONE: &str = "topology.kubernetes.io/zone";
const HOSTNAME: &str = "kubernetes.io/hostname";

pub(super) fn up(object: &mut Tree, from: &Gvk, work: &mut Work<'_>) -> Result<(), Hold> {
    if from.version == "v1" {
        return Ok(());
    }
    let Some(endpoints) = object.get_mut("endpoints") else { return Ok(()) };
    for (at, endpoint) in endpoints.items_mut().iter_mut().enumerate() {
        let Some((index, topology)) = endpoint.take_at("topology") else { continue };
        let mut topology = topology.value;
        let mut moved = Vec::new();
        if let Some(hostname) = topology.take(HOSTNAME) {
            match endpoint.text_at(&["nodeName"]) {
                // kube-proxy took it for the node where no node was named (endpointslicecache.go, 1.20).
                None => moved.push(hostname.under("nodeName")),
                Some(node) if hostname.value.as_text() == Some(node) => {}
                Some(_) => topology.insert_behind(hostname, &[]),
            }
        }
        if let Some(zone) = topology.take(ZONE)
            && endpoint.get("zone").is_none()
        {
            moved.push(zone.under("zone"));
        }
        for entry in moved {
            endpoint.insert_at(index, entry);
        }
        if !topology.is_empty() {
            let rest: Vec<&str> = topology.entries().iter().map(|entry| &*entry.key).collect();
            work.note(Note::Dropped {
                path: format!("endpoints[{at}].topology ({})", rest.join(", ")),
                why: "in v1 it is read-only, as deprecatedTopology",
            });
        }
    }
    Ok(())
}

pub(super) fn down(object: &mut Tree, to: &Gvk) -> Result<(), Hold> {
    if to.version == "v1" {
        return Ok(());
    }
    let Some(endpoints) = object.get_mut("endpoints") else { return Ok(()) };
    for endpoint in endpoints.items_mut() {
        endpoint.rename("deprecatedTopology", "topology");
        let Some((at, zone)) = endpoint.take_at("zone") else { continue };
        let zone = zone.under(ZONE);
        match endpoint.get_mut("topology") {
            Some(topology) => topology.insert_behind(zone, &[]),
            None => {
                let mut topology = Tree::map([]);
                topology.insert_behind(zone, &[]);
                endpoint.insert_at(at, Entry::new("topology", topology));
            }
        }
    }
    Ok(())
}
