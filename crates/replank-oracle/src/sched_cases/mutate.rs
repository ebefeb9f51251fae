//! Cases made from others: what stands under a name in one case is put under the same name in another.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::sched_random::Random;

/// Alterations that a case undergoes, at most.
const STEPS_MAX: u64 = 6;

/// Cases, and everything that stands in them under each name.
#[derive(Debug, Default)]
pub struct Mutator {
    cases: Vec<Value>,
    /// By kind, then by name of the member.
    known: BTreeMap<String, Known>,
}

type Known = BTreeMap<String, Vec<Value>>;

impl Mutator {
    /// Takes in a case.
    pub fn learn(&mut self, mut case: Value) {
        for part in ["expect", "pod"] {
            case.as_object_mut().map(|case| case.remove(part));
        }
        case["normalise"] = json!(true);
        collect(&case["podSubmitted"], self.known.entry("podSubmitted".to_owned()).or_default());
        for (list, objects) in case["cluster"].as_object().into_iter().flatten() {
            collect(objects, self.known.entry(list.clone()).or_default());
        }
        self.cases.push(case);
    }

    /// Number of cases known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.cases.len()
    }

    /// Whether no case is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cases.is_empty()
    }

    /// A case that nobody wrote.
    ///
    /// # Panics
    /// When no case is known.
    #[must_use]
    pub fn case(&self, seed: u64) -> Value {
        let mut random = Random::new(seed ^ 0x6d75_7461_7465);
        let mut case = random.one(&self.cases);
        let group = case["group"].as_str().unwrap_or_default().to_owned();
        case["id"] = json!(format!("{group}-m{seed}"));
        if random.percent(15) {
            case["podSubmitted"] = random.one(&self.cases)["podSubmitted"].clone();
        }
        for _ in 0..=random.below(STEPS_MAX) {
            if random.percent(55) {
                alter(&mut case["podSubmitted"], &self.known["podSubmitted"], &mut random);
            } else {
                self.alter_cluster(&mut case["cluster"], &mut random);
            }
        }
        case
    }

    fn alter_cluster(&self, cluster: &mut Value, random: &mut Random) {
        let Value::Object(lists) = cluster else { return };
        let names: Vec<String> = lists.keys().cloned().collect();
        let name = random.one(&names);
        let Some(Value::Array(list)) = lists.get_mut(&name) else { return };
        if list.is_empty() {
            return;
        }
        let at = index(random, list.len());
        match random.below(6) {
            0 => {
                list.remove(at);
            }
            1 => {
                let mut copy = list[at].clone();
                copy["metadata"]["name"] = json!(format!("copy-{}", random.below(1000)));
                copy["metadata"]["uid"] = json!(format!("copy-{}", random.below(1000)));
                list.push(copy);
            }
            _ => alter(&mut list[at], &self.known[&name], random),
        }
    }
}

fn index(random: &mut Random, length: usize) -> usize {
    usize::try_from(random.below(length as u64)).expect("less than a length")
}

fn collect(value: &Value, into: &mut Known) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                let list = into.entry(key.clone()).or_default();
                // Enough to draw from.
                if list.len() < 2000 {
                    list.push(member.clone());
                }
                collect(member, into);
            }
        }
        Value::Array(all) => all.iter().for_each(|one| collect(one, into)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Walks down to some place and changes what is there.
fn alter(value: &mut Value, known: &Known, random: &mut Random) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            let keys: Vec<String> = members.keys().cloned().collect();
            let key = random.one(&keys);
            if matches!(key.as_str(), "uid" | "creationTimestamp" | "phase") {
                return;
            }
            let is_leaf = !matches!(&members[&key], Value::Object(_) | Value::Array(_));
            if is_leaf || random.percent(25) {
                match (random.below(10), known.get(&key)) {
                    (0..=1, _) => {
                        members.remove(&key);
                    }
                    (2, _) => {
                        let other = random.one(&keys);
                        if let Some(taken) = known.get(&other) {
                            members.insert(other, random.one(taken));
                        }
                    }
                    (_, Some(known)) => {
                        members.insert(key, random.one(known));
                    }
                    (_, None) => {}
                }
            } else if let Some(member) = members.get_mut(&key) {
                alter(member, known, random);
            }
        }
        Value::Array(all) if !all.is_empty() => {
            let at = index(random, all.len());
            match random.below(8) {
                0 => {
                    all.remove(at);
                }
                1 => all.push(all[at].clone()),
                _ => alter(&mut all[at], known, random),
            }
        }
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => {}
    }
}
