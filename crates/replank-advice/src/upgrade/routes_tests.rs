use super::super::minor::hops;
use super::super::skew;
use super::*;
use replank_protocol::provisioner::Provisioner;

fn group(name: &str, kubelet: u64) -> Nodes {
    let version = Minor(kubelet);
    Nodes {
        name: name.into(),
        provisioner: Provisioner::ManagedGroup,
        oldest: version,
        newest: version,
        nodes: 3,
        pods: 10,
        image: None,
    }
}

fn told(way: Way, groups: &[Nodes], from: u64, to: u64) -> Vec<String> {
    let hops = hops(Minor(from), Minor(to)).expect("a way");
    let route = route(way, groups, Minor(from), &hops, &BTreeMap::new());
    route.rolls.iter().map(|roll| format!("{} {} to {}", roll.group, roll.from, roll.to)).collect()
}

#[test]
fn three_versions_are_one_roll_or_three() {
    let web = [group("web", 33)];
    assert_eq!(told(Way::FewestRolls, &web, 33, 36), ["web 1.33 to 1.36"]);
    assert_eq!(
        told(Way::EveryStep, &web, 33, 36),
        ["web 1.33 to 1.34", "web 1.34 to 1.35", "web 1.35 to 1.36"]
    );
}

#[test]
fn a_group_that_would_be_too_old_is_rolled_in_between() {
    // Four minor versions behind is one more than is allowed: it goes as late as it can.
    assert_eq!(told(Way::FewestRolls, &[group("web", 33)], 33, 37), ["web 1.33 to 1.36", "web 1.36 to 1.37"]);
    assert_eq!(
        told(Way::FewestRolls, &[group("old", 30), group("web", 33)], 33, 36),
        ["old 1.30 to 1.33", "old 1.33 to 1.36", "web 1.33 to 1.36"]
    );
    // Kubelets before 1.25 may be two behind only.
    let own = |kubelet| [Nodes { provisioner: Provisioner::SelfManaged, ..group("web", kubelet) }];
    assert_eq!(told(Way::FewestRolls, &own(15), 15, 18), ["web 1.15 to 1.17", "web 1.17 to 1.18"]);
    assert_eq!(told(Way::FewestRolls, &own(24), 24, 28), ["web 1.24 to 1.26", "web 1.26 to 1.28"]);
    assert_eq!(told(Way::FewestRolls, &[group("web", 25)], 25, 28), ["web 1.25 to 1.28"]);
}

#[test]
fn nodes_catch_up_where_the_control_plane_is_there_already() {
    assert_eq!(told(Way::FewestRolls, &[group("web", 34)], 36, 36), ["web 1.34 to 1.36"]);
    assert_eq!(told(Way::FewestRolls, &[group("web", 36)], 36, 36), [""; 0]);
    assert_eq!(told(Way::EveryStep, &[group("web", 32)], 33, 34), ["web 1.32 to 1.33", "web 1.33 to 1.34"]);
}

#[test]
fn nodes_that_others_look_after_are_not_rolled() {
    let pool = Nodes { provisioner: Provisioner::Karpenter(Some("general".into())), ..group("general", 33) };
    assert_eq!(told(Way::EveryStep, &[pool], 33, 36), [""; 0]);
}

/// Whatever there is: no step of the control plane is taken while a kubelet would not go with it, none is ever newer, and nothing is left
/// behind. The reckoning here is the policy's own words and shares nothing with the planner.
#[test]
fn no_route_leaves_the_skew_policy() {
    let fits = |kubelet: u64, server: u64| {
        let most = if kubelet < 25 { 2 } else { 3 };
        kubelet <= server && server - kubelet <= most
    };
    let mut looked_at = 0;
    for (from, steps, way) in
        (14..45).flat_map(|from| (0..9).flat_map(move |steps| Way::ALL.map(|way| (from, steps, way))))
    {
        // Everything that goes with the control plane as it is.
        let groups: Vec<Nodes> = (10..=from)
            .filter(|kubelet| fits(*kubelet, from))
            .map(|kubelet| group(&format!("g{kubelet}"), kubelet))
            .collect();
        let hops = hops(Minor(from), Minor(from + steps)).unwrap();
        let route = route(way, &groups, Minor(from), &hops, &BTreeMap::new());
        for one in &groups {
            let mut kubelet = one.oldest.0;
            for version in from..=from + steps {
                if version > from {
                    assert!(
                        fits(kubelet, version),
                        "{way:?} from {from}: {} at 1.{kubelet} meets 1.{version}",
                        one.name
                    );
                    looked_at += 1;
                }
                for roll in route.at(Minor(version)).filter(|roll| roll.group == one.name) {
                    assert_eq!(roll.from.0, kubelet);
                    kubelet = roll.to.0;
                }
                assert!(kubelet <= version);
            }
            assert_eq!(kubelet, from + steps, "{way:?}: {} is left behind", one.name);
        }
    }
    assert!(looked_at > 5_000, "{looked_at}");
}

#[test]
fn the_fewest_rolls_are_the_fewest() {
    // Against every choice there is, for one group.
    for (from, kubelet, steps) in (14..40)
        .flat_map(|from| (0..4).flat_map(move |lag| (1..8).map(move |steps| (from, from - lag, steps))))
    {
        if !skew::kubelet(Minor(kubelet), Minor(from), Minor(from)).fits() {
            continue;
        }
        let least = (0u32..1 << (steps + 1))
            .filter(|choice| {
                let mut at = kubelet;
                (0..=steps).all(|step| {
                    let version = from + step;
                    let fits = skew::kubelet(Minor(at), Minor(version), Minor(version)).fits();
                    if choice & (1 << step) != 0 {
                        at = version;
                    }
                    fits
                }) && at == from + steps
            })
            .map(u32::count_ones)
            .min();
        // What EKS asks of its own nodes besides is another test.
        let own = Nodes { provisioner: Provisioner::SelfManaged, ..group("web", kubelet) };
        let rolls = told(Way::FewestRolls, &[own], from, from + steps).len();
        assert_eq!(
            Some(rolls),
            least.map(|least| least as usize),
            "from {from}, kubelet {kubelet}, {steps} steps"
        );
    }
}

#[test]
fn ways_are_compared_by_pods_and_time() {
    let hops = hops(Minor(33), Minor(36)).unwrap();
    let groups = [group("web", 33), group("batch", 33)];
    let takes =
        BTreeMap::from([("web".into(), Span::from_minutes(60)), ("batch".into(), Span::from_minutes(90))]);
    let compared = Way::ALL.map(|way| {
        let route = route(way, &groups, Minor(33), &hops, &takes);
        (route.pods(), route.nodes(), route.takes)
    });
    assert_eq!(compared, [(20, 6, Some(Span::from_minutes(150))), (60, 18, Some(Span::from_minutes(450)))]);
    let half = BTreeMap::from([("web".into(), Span::from_minutes(60))]);
    assert_eq!(route(Way::FewestRolls, &groups, Minor(33), &hops, &half).takes, None, "of one nobody knows");
}

#[test]
fn eks_upgrades_no_control_plane_beside_managed_groups_of_another_version_before_1_25() {
    assert_eq!(
        told(Way::FewestRolls, &[group("web", 15)], 16, 18),
        ["web 1.15 to 1.16", "web 1.16 to 1.17", "web 1.17 to 1.18"]
    );
    assert_eq!(
        told(Way::FewestRolls, &[group("web", 23)], 23, 28),
        ["web 1.23 to 1.24", "web 1.24 to 1.25", "web 1.25 to 1.28"]
    );
}
