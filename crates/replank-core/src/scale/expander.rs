//! Which of several groups is extended.
//!
//! Source: Cluster Autoscaler's FAQ, "What are Expanders?", and its expander packages. Expanders in a chain each leave the best; where
//! the last still leaves several, a lot decides. The lot is a function of its number and the group's name.

use std::fmt;

use replank_model::text::GroupName;

use super::prices::Price;

/// How one of several groups is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Expander {
    /// Least cpu and memory idle afterwards (the default).
    LeastWaste,
    /// Most pods helped.
    MostPods,
    /// Highest priority in a list of patterns.
    Priority,
    /// Least cost for each pod helped.
    Price,
    /// Fewest nodes added.
    LeastNodes,
    /// By lot.
    Random,
}

impl Expander {
    const ALL: [Self; 6] =
        [Self::LeastWaste, Self::MostPods, Self::Priority, Self::Price, Self::LeastNodes, Self::Random];

    /// The flag's word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LeastWaste => "least-waste",
            Self::MostPods => "most-pods",
            Self::Priority => "priority",
            Self::Price => "price",
            Self::LeastNodes => "least-nodes",
            Self::Random => "random",
        }
    }
}

impl fmt::Display for Expander {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Reads `priority,least-waste`.
pub(super) fn chain(value: &str) -> Result<Vec<Expander>, String> {
    let mut chain = Vec::new();
    for word in value.split(',').map(str::trim) {
        let known = Expander::ALL.into_iter().find(|one| one.as_str() == word);
        let one = known.ok_or_else(|| {
            format!(
                "unknown expander {word:?}: expected least-waste, most-pods, priority, price, least-nodes or random, or a comma-separated list of them"
            )
        })?;
        if chain.contains(&one) {
            return Err(format!("{one} is listed twice"));
        }
        chain.push(one);
    }
    Ok(chain)
}

/// What extending a group comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The group.
    pub group: GroupName,
    /// Nodes added.
    pub nodes: u32,
    /// Pods that find a place.
    pub pods: usize,
    /// Idle afterwards of the new nodes' cpu and memory: two shares added, in millionths.
    pub waste: i64,
    /// Cost of all of the new nodes an hour, where it is known.
    pub price: Option<Price>,
    /// The highest priority of a pattern that matches the group, where there is one.
    pub priority: Option<i64>,
}

/// The best of some choices, and who decided.
#[must_use]
pub fn choose(choices: &[Choice], chain: &[Expander], draw: u64) -> Option<(usize, Decided)> {
    let mut left: Vec<usize> = (0..choices.len()).collect();
    let mut decided = Decided::Only;
    for expander in chain {
        if left.len() < 2 {
            break;
        }
        let best = best(choices, &left, *expander, draw);
        if best.len() < left.len() {
            decided = Decided::By(*expander);
        }
        left = best;
    }
    if left.len() > 1 {
        decided = Decided::ByLot;
        left.sort_by_key(|at| lot(draw, &choices[*at].group));
    }
    left.first().map(|at| (*at, decided))
}

/// Who decided between groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decided {
    /// Nobody: there was one.
    Only,
    /// An expander.
    By(Expander),
    /// A lot, since all expanders found several equally good.
    ByLot,
}

impl fmt::Display for Decided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Only => f.write_str("the only group that fits"),
            Self::By(expander) => expander.fmt(f),
            Self::ByLot => f.write_str("random choice among equals"),
        }
    }
}

fn best(choices: &[Choice], left: &[usize], expander: Expander, draw: u64) -> Vec<usize> {
    // The least of a number; choices of which it is not known come after all others.
    let least = |number: &dyn Fn(&Choice) -> Option<i128>| {
        let least = left.iter().filter_map(|at| number(&choices[*at])).min();
        let best = left.iter().copied().filter(|at| least.is_none() || number(&choices[*at]) == least);
        best.collect::<Vec<_>>()
    };
    match expander {
        Expander::LeastWaste => least(&|choice| Some(i128::from(choice.waste))),
        Expander::MostPods => least(&|choice| Some(-i128::try_from(choice.pods).unwrap_or(i128::MAX))),
        Expander::Priority => least(&|choice| choice.priority.map(|priority| -i128::from(priority))),
        Expander::Price => least(&|choice| {
            let pods = i128::try_from(choice.pods.max(1)).unwrap_or(i128::MAX);
            choice.price.map(|price| i128::from(price) * 1_000_000 / pods)
        }),
        Expander::LeastNodes => least(&|choice| Some(i128::from(choice.nodes))),
        Expander::Random => {
            let first = left.iter().copied().min_by_key(|at| lot(draw, &choices[*at].group));
            first.into_iter().collect()
        }
    }
}

/// FNV-1a, scattered: the same for the same number and name, on every machine.
fn lot(draw: u64, group: &GroupName) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325 ^ draw.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for byte in group.as_str().bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash ^ hash >> 29
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(group: &str, nodes: u32, pods: usize, waste: i64) -> Choice {
        Choice { group: group.into(), nodes, pods, waste, price: None, priority: None }
    }

    fn chosen(choices: &[Choice], chain: &str) -> String {
        let chain = super::chain(chain).expect("they exist");
        let (at, decided) = choose(choices, &chain, 0).expect("there are some");
        format!("{} {decided}", choices[at].group)
    }

    #[test]
    fn each_expander_goes_by_its_number() {
        let mut all = [choice("a", 3, 10, 500_000), choice("b", 2, 9, 100_000), choice("c", 1, 8, 900_000)];
        assert_eq!(chosen(&all, "least-waste"), "b least-waste");
        assert_eq!(chosen(&all, "most-pods"), "a most-pods");
        assert_eq!(chosen(&all, "least-nodes"), "c least-nodes");
        all[2].priority = Some(10);
        assert_eq!(
            chosen(&all, "priority"),
            "c priority",
            "groups that no pattern matches come after all others"
        );
        all[0].price = Some(300_000);
        all[1].price = Some(290_000);
        assert_eq!(chosen(&all, "price"), "a price", "cheaper for each pod");
    }

    #[test]
    fn a_chain_goes_on_with_what_is_left() {
        let all = [choice("a", 1, 10, 5), choice("b", 1, 10, 3), choice("c", 1, 9, 1)];
        assert_eq!(chosen(&all, "most-pods,least-waste"), "b least-waste");
        assert_eq!(chosen(&all, "least-nodes,most-pods,least-waste"), "b least-waste");
        assert_eq!(chosen(&all[..1], "random"), "a the only group that fits");
        assert!(chosen(&all[..2], "most-pods").ends_with("random choice among equals"));
        let lots: std::collections::BTreeSet<usize> =
            (0..50).filter_map(|draw| choose(&all, &[Expander::Random], draw)).map(|(at, _)| at).collect();
        assert_eq!(lots.len(), 3, "every group is drawn at some time");
    }
}
