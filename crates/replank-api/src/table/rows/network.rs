//! Rows of services and of what leads to them.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::table::look::{Look, first, items, joined, labels, selector_or_none, text};

/// The cells of a resource of this file.
pub(super) fn cells(plural: &str, look: Look<'_>) -> Option<Vec<Value>> {
    Some(match plural {
        "services" => vec![
            look.name(),
            look.text("/spec/type").into(),
            look.text_or("/spec/clusterIPs/0", "<none>"),
            external(look).into(),
            ports(look).into(),
            look.age(),
            labels(look.at("/spec/selector")).into(),
        ],
        "endpoints" => vec![look.name(), endpoints(look).into(), look.age()],
        "endpointslices" => slice(look),
        "ingresses" => vec![
            look.name(),
            look.text_or("/spec/ingressClassName", "<none>"),
            hosts(look).into(),
            balancers(look).into(),
            if look.list("/spec/tls").is_empty() { "80" } else { "80, 443" }.into(),
            look.age(),
        ],
        "ingressclasses" => ingress_class(look),
        "networkpolicies" => {
            vec![look.name(), selector_or_none(look.at("/spec/podSelector")).into(), look.age()]
        }
        "servicecidrs" => {
            vec![look.name(), joined(look.list("/spec/cidrs").iter().map(text), ",").into(), look.age()]
        }
        "ipaddresses" => vec![look.name(), parent(look).into(), look.age()],
        _ => return None,
    })
}

/// Addresses or names of load balancers, sorted.
fn balancers(look: Look<'_>) -> String {
    let all = look.list("/status/loadBalancer/ingress").iter();
    let words = all.map(|one| match text(&one["ip"]) {
        "" => text(&one["hostname"]),
        ip => ip,
    });
    words.filter(|word| !word.is_empty()).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(",")
}

fn external(look: Look<'_>) -> String {
    let own: Vec<&str> = look.list("/spec/externalIPs").iter().map(text).collect();
    match look.text("/spec/type") {
        "ClusterIP" | "NodePort" if own.is_empty() => "<none>".to_owned(),
        "ClusterIP" | "NodePort" => own.join(","),
        "LoadBalancer" => {
            let balancers = balancers(look);
            let all = balancers.split(',').filter(|one| !one.is_empty()).chain(own);
            let all = joined(all, ",");
            if all.is_empty() { "<pending>".to_owned() } else { all }
        }
        "ExternalName" => look.text("/spec/externalName").to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

fn ports(look: Look<'_>) -> String {
    let number = |port: &Value, member: &str| port[member].as_i64().unwrap_or(0);
    let all = look.list("/spec/ports").iter().map(|port| {
        let (own, protocol) = (number(port, "port"), text(&port["protocol"]));
        match number(port, "nodePort") {
            0 => format!("{own}/{protocol}"),
            node => format!("{own}:{node}/{protocol}"),
        }
    });
    let all: Vec<String> = all.collect();
    if all.is_empty() { "<none>".to_owned() } else { all.join(",") }
}

fn host_port(host: &str, port: i64) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

fn endpoints(look: Look<'_>) -> String {
    let subsets = look.list("/subsets");
    if subsets.is_empty() {
        return "<none>".to_owned();
    }
    let mut all: Vec<String> = Vec::new();
    for subset in subsets {
        let addresses = || items(&subset["addresses"]).iter().map(|one| text(&one["ip"]));
        let ports = items(&subset["ports"]);
        if ports.is_empty() {
            all.extend(addresses().map(str::to_owned));
        }
        for port in ports {
            let port = port["port"].as_i64().unwrap_or(0);
            all.extend(addresses().map(|address| host_port(address, port)));
        }
    }
    first(&all, 3, ",", "")
}

fn slice(look: Look<'_>) -> Vec<Value> {
    let port = |port: &Value| match (port["port"].as_i64(), port["name"].as_str()) {
        (Some(number), _) => number.to_string(),
        (None, Some(name)) => name.to_owned(),
        (None, None) => "*".to_owned(),
    };
    let ports: Vec<String> = look.list("/ports").iter().map(port).collect();
    let of = |endpoint: &Value| -> Vec<String> {
        items(&endpoint["addresses"]).iter().map(|one| text(one).to_owned()).collect()
    };
    let addresses: Vec<String> = look.list("/endpoints").iter().flat_map(of).collect();
    let told = |texts: &[String]| -> Value {
        match first(texts, 3, ",", "").as_str() {
            "" => "<unset>".into(),
            text => text.into(),
        }
    };
    vec![look.name(), look.text("/addressType").into(), told(&ports), told(&addresses), look.age()]
}

fn hosts(look: Look<'_>) -> String {
    let rules = look.list("/spec/rules");
    let hosts: Vec<&str> =
        rules.iter().map(|rule| text(&rule["host"])).filter(|host| !host.is_empty()).collect();
    if hosts.is_empty() {
        return "*".to_owned();
    }
    let shown = hosts.iter().take(3).copied().collect::<Vec<_>>().join(",");
    // Once three are shown, every rule that follows counts, with a host or without.
    let third = rules.iter().enumerate().filter(|(_, rule)| !text(&rule["host"]).is_empty()).nth(2);
    match third {
        Some((index, _)) if index + 1 < rules.len() => format!("{shown} + {} more...", rules.len() - 3),
        _ => shown,
    }
}

fn ingress_class(look: Look<'_>) -> Vec<Value> {
    let mut name = look.text("/metadata/name").to_owned();
    if look.at("/metadata/annotations")["ingressclass.kubernetes.io/is-default-class"] == "true" {
        name.push_str(" (default)");
    }
    let parameters = look.at("/spec/parameters");
    let shown = if parameters.is_null() {
        "<none>".to_owned()
    } else {
        let group = parameters["apiGroup"].as_str().map(|group| format!(".{group}")).unwrap_or_default();
        format!("{}{group}/{}", text(&parameters["kind"]), text(&parameters["name"]))
    };
    vec![name.into(), look.text("/spec/controller").into(), shown.into(), look.age()]
}

fn parent(look: Look<'_>) -> String {
    let parent = look.at("/spec/parentRef");
    if parent.is_null() {
        return "<none>".to_owned();
    }
    let word = |member: &str| text(&parent[member]);
    let group = if word("group").is_empty() { String::new() } else { format!(".{}", word("group")) };
    let namespace =
        if word("namespace").is_empty() { String::new() } else { format!("/{}", word("namespace")) };
    format!("{}{namespace}/{}", format!("{}{group}", word("resource")).to_lowercase(), word("name"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_service_says_where_it_is_reached() {
        let object = json!({"metadata": {"name": "s"}, "spec": {"type": "LoadBalancer", "externalIPs": ["1.2.3.4"],
            "ports": [{"port": 80, "nodePort": 30080, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]},
            "status": {"loadBalancer": {"ingress": [{"hostname": "b.example"}, {"ip": "9.9.9.9"}]}}});
        let told =
            cells("services", Look { object: &object, now: crate::table::Moment::At(0) }).expect("it is one");
        assert_eq!(told[2..5], ["<none>", "9.9.9.9,b.example,1.2.3.4", "80:30080/TCP,53/UDP"]);
    }

    #[test]
    fn many_endpoints_are_counted() {
        let object = json!({"subsets": [{"addresses": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}], "ports": [{"port": 80}, {"port": 81}]}]});
        let told = endpoints(Look { object: &object, now: crate::table::Moment::At(0) });
        assert_eq!(told, "10.0.0.1:80,[fd00::1]:80,10.0.0.1:81 + 1 more...");
    }
}
