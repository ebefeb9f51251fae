//! Security groups: what nodes of a group reach, and who reaches them, from what AWS's command line prints.
//!
//! A launch template that names security groups replaces those that EKS would give: the cluster's own is not added then (EKS user guide, "Customize managed nodes with
//! launch templates"). So a new group may lack what the old one has by its template, or by having none.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

/// What is known of security groups and of who has which.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// By node group: its launch template's id and the version that it names.
    templates: BTreeMap<String, (String, String)>,
    /// By launch template and version: its security groups.
    versions: BTreeMap<(String, i64), Vec<String>>,
    /// By launch template: the version that is the default.
    defaults: BTreeMap<String, i64>,
    groups: BTreeMap<String, SecurityGroup>,
    /// The security group of the cluster, which nodes have whose launch template names none.
    cluster: Option<String>,
    is_asked: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct SecurityGroup {
    name: String,
    lets_in: Vec<Permission>,
    lets_out: Vec<Permission>,
}

/// Traffic that is allowed with one other side.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Permission {
    protocol: String,
    ports: Option<(i64, i64)>,
    /// A security group, a range of addresses or a prefix list.
    with: String,
}

/// Traffic as it is told: `tcp 5432 to sg-1 (database)`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Traffic {
    protocol: String,
    ports: Option<(i64, i64)>,
    /// The other side.
    id: String,
    /// `to` or `from`, and the other side with its name.
    with: String,
}

impl Traffic {
    /// The other side: a security group, a range of addresses or a prefix list.
    #[must_use]
    pub fn other(&self) -> &str {
        &self.id
    }
}

/// Why the security groups of a node group are not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// No file names the group with a launch template.
    Group,
    /// No file has the launch template's version.
    Template {
        /// Its id.
        id: String,
        /// As the group names it: a number, `$Latest` or `$Default`.
        version: String,
    },
    /// The launch template names none, and no file has those of the cluster.
    Cluster,
}

impl fmt::Display for Traffic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let protocol = if self.protocol == "-1" { "all traffic" } else { &*self.protocol };
        match self.ports {
            Some((from, to)) if from == to => write!(f, "{protocol} {from} {}", self.with),
            Some((from, to)) => write!(f, "{protocol} {from}-{to} {}", self.with),
            None => write!(f, "{protocol} {}", self.with),
        }
    }
}

impl Permission {
    /// Whether it allows all that another one does, whoever is on the other side.
    fn covers(&self, other: &Self) -> bool {
        let has_ports = match (self.ports, other.ports) {
            (None, _) => true,
            (Some((from, to)), Some((low, high))) => from <= low && high <= to,
            (Some(_), None) => false,
        };
        self.protocol == "-1" || (self.protocol == other.protocol && has_ports)
    }

    /// Whether it allows some of what another one does, whoever is on the other side.
    fn meets(&self, other: &Self) -> bool {
        let has_ports = match (self.ports, other.ports) {
            (Some((from, to)), Some((low, high))) if self.has_port_range() => from <= high && low <= to,
            (Some(_) | None, Some(_) | None) => false,
        };
        self.covers(other) || (self.protocol == other.protocol && has_ports)
    }

    /// Of other protocols the two numbers are no range: those of ICMP are a type and a code.
    fn has_port_range(&self) -> bool {
        matches!(&*self.protocol, "tcp" | "udp")
    }

    /// Whether some permissions together allow all that one does: ports may be given in several ranges.
    fn is_covered(&self, by: &[&Self]) -> bool {
        if by.iter().any(|other| other.covers(self)) {
            return true;
        }
        let Some((low, high)) = self.ports.filter(|_| self.has_port_range()) else { return false };
        let same = by.iter().filter(|other| other.protocol == self.protocol);
        let mut ranges: Vec<(i64, i64)> = same.filter_map(|other| other.ports).collect();
        ranges.sort_unstable();
        // The lowest port that nothing seen so far allows.
        let open = ranges.into_iter().fold(low, |open, (from, to)| match from <= open {
            true => open.max(to.saturating_add(1)),
            false => open,
        });
        open > high
    }
}

/// What one group's nodes have and another's lack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lacks {
    /// What is reached: security groups that let the nodes in.
    pub reached: BTreeSet<Traffic>,
    /// What is reached only if an address range or a prefix list of its security group contains the nodes' addresses, which no file says.
    pub ranged: BTreeSet<Traffic>,
    /// Who reaches the nodes.
    pub reaching: BTreeSet<Traffic>,
    /// What the nodes' own security groups let out.
    pub sent: BTreeSet<Traffic>,
}

impl Network {
    /// Takes in an answer; whether it is one that is used.
    pub fn read(&mut self, value: &Value) -> bool {
        let list = |key: &str| value[key].as_array();
        if let Some(groups) = list("AutoScalingGroups") {
            self.templates.extend(groups.iter().filter_map(template_of));
            return true;
        }
        if let Some(versions) = list("LaunchTemplateVersions") {
            versions.iter().for_each(|version| self.version(version));
        } else if let Some(groups) = list("SecurityGroups") {
            self.groups.extend(groups.iter().filter_map(security_group));
        } else if let Some(own) = value["cluster"]["resourcesVpcConfig"]["clusterSecurityGroupId"].as_str() {
            self.cluster = Some(own.to_owned());
        } else {
            return false;
        }
        self.is_asked = true;
        true
    }

    fn version(&mut self, value: &Value) {
        let Some((id, number)) = value["LaunchTemplateId"].as_str().zip(value["VersionNumber"].as_i64())
        else {
            return;
        };
        let data = &value["LaunchTemplateData"];
        let interfaces = data["NetworkInterfaces"].as_array().into_iter().flatten();
        let lists = std::iter::once(&data["SecurityGroupIds"]).chain(interfaces.map(|one| &one["Groups"]));
        let groups = lists.filter_map(Value::as_array).flatten().filter_map(Value::as_str);
        self.versions.insert((id.to_owned(), number), groups.map(str::to_owned).collect());
        if value["DefaultVersion"] == true {
            self.defaults.insert(id.to_owned(), number);
        }
    }

    /// Whether an answer on the network was read: that on groups is read for other questions, too.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.is_asked
    }

    /// The security groups of a node group's nodes.
    ///
    /// # Errors
    /// What no file says, so that they are not known.
    pub fn of(&self, group: &str) -> Result<BTreeSet<String>, Unknown> {
        let (id, version) = self.templates.get(group).ok_or(Unknown::Group)?;
        let numbers = || self.versions.keys().filter(|(of, _)| of == id).map(|(_, number)| *number);
        let number = match &**version {
            "$Latest" => numbers().max(),
            "$Default" => self.defaults.get(id).copied(),
            number => number.parse().ok(),
        };
        let named = number.and_then(|number| self.versions.get(&(id.clone(), number)));
        let named = named.ok_or_else(|| Unknown::Template { id: id.clone(), version: version.clone() })?;
        match named.is_empty() {
            true => Ok(BTreeSet::from([self.cluster.clone().ok_or(Unknown::Cluster)?])),
            false => Ok(named.iter().cloned().collect()),
        }
    }

    /// The security group of the cluster, where a file has it.
    #[must_use]
    pub fn of_cluster(&self) -> Option<&str> {
        self.cluster.as_deref()
    }

    /// Those of some security groups whose rules no file has.
    #[must_use]
    pub fn undescribed(&self, ids: &BTreeSet<String>) -> BTreeSet<String> {
        ids.iter().filter(|id| !self.groups.contains_key(*id)).cloned().collect()
    }

    /// What nodes with some security groups have that nodes with others lack. Rules that no file has are not judged: of the new groups' own rules nothing is said unless all of
    /// them are known.
    #[must_use]
    pub fn lacks(&self, old: &BTreeSet<String>, new: &BTreeSet<String>) -> Lacks {
        let (reached, ranged) = self.reached(old, new);
        let mut lacks = Lacks { reached, ranged, ..Lacks::default() };
        if self.undescribed(new).is_empty() {
            lacks.reaching = self.of_own(old, new, "from", |group| &group.lets_in);
            lacks.sent = self.of_own(old, new, "to", |group| &group.lets_out);
        }
        lacks
    }

    /// Ports of other security groups that let one in and not the other; and those that let the other in only by its addresses, if at all.
    fn reached(
        &self,
        old: &BTreeSet<String>,
        new: &BTreeSet<String>,
    ) -> (BTreeSet<Traffic>, BTreeSet<Traffic>) {
        let (mut lost, mut ranged) = (BTreeSet::new(), BTreeSet::new());
        for (id, group) in &self.groups {
            for one in group.lets_in.iter().filter(|one| old.contains(&one.with)) {
                let more: Vec<&Permission> = group.lets_in.iter().filter(|other| other.meets(one)).collect();
                let is_its = |other: &Permission| new.contains(&other.with) || is_everybody(&other.with);
                let (its, others): (Vec<&Permission>, Vec<&Permission>) =
                    more.into_iter().partition(|other| is_its(other));
                if one.is_covered(&its) {
                    continue;
                }
                let to = format!("to {}", self.told(id));
                let by_range: Vec<&Permission> =
                    others.into_iter().filter(|other| !other.with.starts_with("sg-")).collect();
                let ranges: BTreeSet<&str> = by_range.iter().map(|other| &*other.with).collect();
                let ranges = ranges.into_iter().collect::<Vec<_>>().join(", ");
                match one.is_covered(&[its, by_range].concat()) {
                    true => ranged.insert(traffic(one, id, format!("{to} from {ranges}"))),
                    false => lost.insert(traffic(one, id, to)),
                };
            }
        }
        (lost, ranged)
    }

    fn of_own(
        &self,
        old: &BTreeSet<String>,
        new: &BTreeSet<String>,
        word: &str,
        of: impl Fn(&SecurityGroup) -> &Vec<Permission>,
    ) -> BTreeSet<Traffic> {
        let all = |ids: &BTreeSet<String>| -> Vec<Permission> {
            ids.iter().filter_map(|id| self.groups.get(id)).flat_map(|group| of(group).clone()).collect()
        };
        let (before, after) = (all(old), all(new));
        // What is allowed with oneself is allowed with oneself in the other group, too.
        let is_same = |one: &Permission, other: &Permission| {
            one.with == other.with
                || is_everybody(&other.with)
                || (old.contains(&one.with) && new.contains(&other.with) && !new.contains(&one.with))
        };
        let is_lost = |one: &&Permission| {
            let same: Vec<&Permission> = after.iter().filter(|other| is_same(one, other)).collect();
            !one.is_covered(&same)
        };
        before
            .iter()
            .filter(is_lost)
            .map(|one| traffic(one, &one.with, format!("{word} {}", self.told(&one.with))))
            .collect()
    }

    /// A security group with its name; anything else as it is.
    fn told(&self, id: &str) -> String {
        match self.groups.get(id) {
            Some(group) if !group.name.is_empty() => format!("{id} ({})", group.name),
            Some(_) | None => id.to_owned(),
        }
    }
}

fn traffic(one: &Permission, id: &str, with: String) -> Traffic {
    Traffic { protocol: one.protocol.clone(), ports: one.ports, id: id.to_owned(), with }
}

fn is_everybody(with: &str) -> bool {
    with == "0.0.0.0/0"
}

/// A group under its own name, or that of its managed node group, and the launch template that it names.
fn template_of(group: &Value) -> Option<(String, (String, String))> {
    let mut tags = group["Tags"].as_array().into_iter().flatten();
    let managed = tags.find(|tag| tag["Key"] == "eks:nodegroup-name").and_then(|tag| tag["Value"].as_str());
    let name = managed.or_else(|| group["AutoScalingGroupName"].as_str())?;
    let own = &group["LaunchTemplate"];
    let mixed = &group["MixedInstancesPolicy"]["LaunchTemplate"]["LaunchTemplateSpecification"];
    let template = if own.is_object() { own } else { mixed };
    let id = template["LaunchTemplateId"].as_str()?;
    let version = template["Version"].as_str().unwrap_or("$Default");
    Some((name.to_owned(), (id.to_owned(), version.to_owned())))
}

fn security_group(value: &Value) -> Option<(String, SecurityGroup)> {
    let permissions = |key: &str| -> Vec<Permission> {
        value[key].as_array().into_iter().flatten().flat_map(permissions).collect()
    };
    Some((
        value["GroupId"].as_str()?.to_owned(),
        SecurityGroup {
            name: value["GroupName"].as_str().unwrap_or_default().to_owned(),
            lets_in: permissions("IpPermissions"),
            lets_out: permissions("IpPermissionsEgress"),
        },
    ))
}

/// One for each other side.
fn permissions(value: &Value) -> Vec<Permission> {
    const SIDES: [(&str, &str); 4] = [
        ("UserIdGroupPairs", "GroupId"),
        ("IpRanges", "CidrIp"),
        ("Ipv6Ranges", "CidrIpv6"),
        ("PrefixListIds", "PrefixListId"),
    ];
    let protocol = value["IpProtocol"].as_str().unwrap_or("-1");
    let ports = value["FromPort"].as_i64().zip(value["ToPort"].as_i64());
    let mut all = Vec::new();
    for (list, key) in SIDES {
        let sides = value[list].as_array().into_iter().flatten().filter_map(|side| side[key].as_str());
        all.extend(sides.map(|with| Permission {
            protocol: protocol.to_owned(),
            ports,
            with: with.to_owned(),
        }));
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn network(more: &[Value]) -> Network {
        let group = |name: &str, template: &str, version: &str| json!({"AutoScalingGroupName": name, "LaunchTemplate": {"LaunchTemplateId": template, "Version": version}});
        let mut network = Network::default();
        let answers = [
            json!({"AutoScalingGroups": [group("old", "lt-1", "1"), group("new", "lt-2", "$Latest")]}),
            json!({"LaunchTemplateVersions": [
                {"LaunchTemplateId": "lt-1", "VersionNumber": 1, "LaunchTemplateData": {"SecurityGroupIds": ["sg-old"]}},
                {"LaunchTemplateId": "lt-2", "VersionNumber": 1, "LaunchTemplateData": {"SecurityGroupIds": ["sg-old"]}},
                {"LaunchTemplateId": "lt-2", "VersionNumber": 2, "LaunchTemplateData": {"NetworkInterfaces": [{"Groups": ["sg-new"]}]}}]}),
        ];
        for answer in answers.iter().chain(more) {
            assert!(network.read(answer));
        }
        network
    }

    fn permission(port: i64, from: &[&str]) -> Value {
        let pairs: Vec<Value> = from.iter().map(|id| json!({"GroupId": id})).collect();
        json!({"IpProtocol": "tcp", "FromPort": port, "ToPort": port, "UserIdGroupPairs": pairs})
    }

    fn lacks(groups: &Value) -> Lacks {
        let network = network(&[json!({"SecurityGroups": groups})]);
        network.lacks(&network.of("old").expect("known"), &network.of("new").expect("known"))
    }

    fn words(all: &BTreeSet<Traffic>) -> Vec<String> {
        all.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_security_groups_of_a_group_are_those_of_its_template() {
        let network = network(&[]);
        assert_eq!(network.of("old"), Ok(BTreeSet::from(["sg-old".to_owned()])));
        assert_eq!(network.of("new"), Ok(BTreeSet::from(["sg-new".to_owned()])), "the latest");
        assert_eq!(network.of("other"), Err(Unknown::Group));
    }

    #[test]
    fn without_any_of_its_own_a_template_gets_the_clusters() {
        let mut network = Network::default();
        let group = json!({"AutoScalingGroups": [{"AutoScalingGroupName": "eks-web-1", "Tags": [{"Key": "eks:nodegroup-name", "Value": "web"}],
            "LaunchTemplate": {"LaunchTemplateId": "lt-1", "Version": "1"}}]});
        let version = json!({"LaunchTemplateVersions": [{"LaunchTemplateId": "lt-1", "VersionNumber": 1, "LaunchTemplateData": {}}]});
        assert!(network.read(&group) && network.read(&version));
        assert_eq!(network.of("web"), Err(Unknown::Cluster), "the cluster's is not known");
        assert!(
            network.read(&json!({"cluster": {"resourcesVpcConfig": {"clusterSecurityGroupId": "sg-eks"}}}))
        );
        assert_eq!(network.of("web"), Ok(BTreeSet::from(["sg-eks".to_owned()])));
        let mut network = Network::default();
        assert!(network.read(&group));
        let template = Unknown::Template { id: "lt-1".to_owned(), version: "1".to_owned() };
        assert_eq!(network.of("web"), Err(template));
    }

    #[test]
    fn what_lets_in_the_old_group_only_is_lacking() {
        let database = |from: &[&str]| json!([{"GroupId": "sg-db", "GroupName": "database", "IpPermissions": [permission(5432, from)]}]);
        assert_eq!(words(&lacks(&database(&["sg-old"])).reached), ["tcp 5432 to sg-db (database)"]);
        assert_eq!(lacks(&database(&["sg-old", "sg-new"])), Lacks::default());
        assert_eq!(lacks(&database(&["sg-other"])), Lacks::default());
        let all = json!([{"GroupId": "sg-db", "IpPermissions": [permission(5432, &["sg-old"]), {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": "sg-new"}]}]}]);
        assert_eq!(lacks(&all), Lacks::default(), "all traffic is more");
    }

    #[test]
    fn ports_may_be_allowed_in_several_ranges() {
        let rule = |protocol: &str, (from, to): (i64, i64), with: &str| json!({"IpProtocol": protocol, "FromPort": from, "ToPort": to, "UserIdGroupPairs": [{"GroupId": with}]});
        let reached = |protocol: &str, of_new: &[(i64, i64)]| {
            let mut all = vec![rule(protocol, (5432, 5440), "sg-old")];
            all.extend(of_new.iter().map(|ports| rule(protocol, *ports, "sg-new")));
            words(&lacks(&json!([{"GroupId": "sg-db", "IpPermissions": all}])).reached)
        };
        assert_eq!(reached("tcp", &[(5432, 5435), (5436, 5440)]), [""; 0], "adjacent");
        assert_eq!(reached("tcp", &[(5434, 5450), (5000, 5437)]), [""; 0], "overlapping, in any order");
        assert_eq!(
            reached("tcp", &[(5432, 5435), (5437, 5440)]),
            ["tcp 5432-5440 to sg-db"],
            "5436 is missing"
        );
        assert_eq!(
            reached("tcp", &[(5432, 5435), (5436, 5439)]),
            ["tcp 5432-5440 to sg-db"],
            "the last is missing"
        );
        assert_eq!(reached("icmp", &[(5432, 5435), (5436, 5440)]).len(), 1, "these are no ports");
        // The same of the nodes' own groups, and where an address range has the rest.
        let own = |of_new: Value| {
            lacks(&json!([{"GroupId": "sg-old", "IpPermissions": [rule("tcp", (80, 90), "sg-lb")]}, {"GroupId": "sg-new", "IpPermissions": of_new}])).reaching
        };
        assert_eq!(
            words(&own(json!([rule("tcp", (80, 85), "sg-lb"), rule("tcp", (86, 90), "sg-lb")]))),
            [""; 0]
        );
        assert_eq!(own(json!([rule("tcp", (80, 85), "sg-lb"), rule("tcp", (86, 90), "sg-other")])).len(), 1);
        let rest = json!({"IpProtocol": "tcp", "FromPort": 5436, "ToPort": 5440, "IpRanges": [{"CidrIp": "10.0.0.0/16"}]});
        let with_range = json!([{"GroupId": "sg-db", "IpPermissions": [rule("tcp", (5432, 5440), "sg-old"), rule("tcp", (5432, 5435), "sg-new"), rest]}]);
        assert_eq!(words(&lacks(&with_range).ranged), ["tcp 5432-5440 to sg-db from 10.0.0.0/16"]);
    }

    #[test]
    fn whether_an_address_range_contains_the_nodes_is_not_known() {
        let database = |port: i64, range: &str| {
            let by_range = json!({"IpProtocol": "tcp", "FromPort": port, "ToPort": port, "IpRanges": [{"CidrIp": range}]});
            json!([{"GroupId": "sg-db", "GroupName": "database", "IpPermissions": [permission(5432, &["sg-old"]), by_range]}])
        };
        let lets_in = lacks(&database(5432, "10.0.0.0/16"));
        assert_eq!(words(&lets_in.ranged), ["tcp 5432 to sg-db (database) from 10.0.0.0/16"]);
        assert!(lets_in.reached.is_empty(), "{lets_in:?}");
        let other_port = lacks(&database(443, "10.0.0.0/16"));
        assert_eq!((other_port.reached.len(), other_port.ranged.len()), (1, 0));
        assert_eq!(lacks(&database(5432, "0.0.0.0/0")), Lacks::default(), "everybody is let in");
    }

    #[test]
    fn who_reaches_the_old_group_only_is_lacking() {
        let groups = |new: Value| {
            json!([{"GroupId": "sg-lb", "GroupName": "balancer"},
                {"GroupId": "sg-old", "IpPermissions": [permission(8080, &["sg-lb"]), permission(10250, &["sg-old"])], "IpPermissionsEgress": [{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}]},
                {"GroupId": "sg-new", "IpPermissions": new, "IpPermissionsEgress": [permission(443, &["sg-db"])]}])
        };
        let few = lacks(&groups(json!([permission(10250, &["sg-new"])])));
        assert_eq!(words(&few.reaching), ["tcp 8080 from sg-lb (balancer)"]);
        assert_eq!(words(&few.sent), ["all traffic to 0.0.0.0/0"]);
        let both = lacks(&groups(json!([permission(10250, &["sg-new"]), permission(8080, &["sg-lb"])])));
        assert!(both.reaching.is_empty(), "{both:?}");
    }

    #[test]
    fn of_a_group_that_no_file_describes_nothing_is_said() {
        let described = |new: &[Value]| {
            let old = json!({"GroupId": "sg-old", "IpPermissions": [permission(8080, &["sg-lb"])], "IpPermissionsEgress": [permission(443, &["sg-db"])]});
            let groups = [&[old][..], new].concat();
            let network = network(&[json!({"SecurityGroups": groups})]);
            let (old, new) = (network.of("old").expect("known"), network.of("new").expect("known"));
            (network.undescribed(&new).len(), network.lacks(&old, &new))
        };
        assert_eq!(described(&[]), (1, Lacks::default()));
        let (unknown, lacks) = described(&[json!({"GroupId": "sg-new"})]);
        assert_eq!((unknown, lacks.reaching.len(), lacks.sent.len()), (0, 1, 1), "it has no rule");
    }
}
