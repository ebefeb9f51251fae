//! Random changes of objects as they stand in a file: what a hand, a script or a broken dump may make of them.

use replank_oracle::sched_random::Random;
use serde_json::{Value, json};

/// Texts that mean something where numbers, names, quantities, times or selectors are expected.
const TEXTS: [&str; 26] = [
    "",
    "0",
    "-1",
    "1",
    "100%",
    "0%",
    "-5%",
    "99999999%",
    "9223372036854775807",
    "1e400",
    "500m",
    "1Ei",
    "0.0000000001",
    "True",
    "False",
    "Unknown",
    "Never",
    "Always",
    "2026-11-20T09:52:00Z",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
    "NoExecute",
    "DoNotSchedule",
    "* * * * *",
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
];

const NUMBERS: [i64; 12] =
    [0, 1, -1, 2, 100, 65_536, 1_000_000, 2_147_483_647, -2_147_483_648, 2_147_483_648, i64::MAX, i64::MIN];

/// So many values of a kind are there to be taken in another one's place.
const POOL_MAX: usize = 4_096;

/// Changes objects, and says how.
pub(super) fn change(random: &mut Random, objects: &mut Vec<Value>) -> String {
    let at = index(random, objects.len());
    let name = name(&objects[at]);
    match random.below(100) {
        0..6 => {
            objects.remove(at);
            format!("{name} is not there")
        }
        6..10 => {
            let mut copy = objects[at].clone();
            let number = random.below(1_000);
            copy["metadata"]["name"] = json!(format!("copy-{number}"));
            copy["metadata"]["uid"] = json!(format!("copy-{number}"));
            objects.push(copy);
            format!("{name} is there a second time as copy-{number}")
        }
        10..14 => {
            let other = index(random, objects.len());
            let spec = objects[other].get("spec").cloned().unwrap_or(Value::Null);
            let told = format!("{name} has the spec of {}", self::name(&objects[other]));
            objects[at]["spec"] = spec;
            told
        }
        _ => {
            let pool = pool(random, objects);
            let mut path = String::new();
            let told = within(random, &mut objects[at], &pool, &mut path);
            format!("{name}{path}: {told}")
        }
    }
}

fn name(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or("");
    format!("{} {}/{}", text("/kind"), text("/metadata/namespace"), text("/metadata/name"))
}

fn index(random: &mut Random, length: usize) -> usize {
    usize::try_from(random.below(length.max(1) as u64)).expect("less than a length")
}

/// Texts of another object: names, labels and uids that exist.
fn pool(random: &mut Random, objects: &[Value]) -> Vec<String> {
    let mut found = Vec::new();
    let other = index(random, objects.len());
    texts(&objects[other], &mut found);
    found
}

fn texts(value: &Value, found: &mut Vec<String>) {
    if found.len() >= POOL_MAX {
        return;
    }
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(members) => members.values().for_each(|member| texts(member, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Goes down to a random place and changes what is there.
fn within(random: &mut Random, value: &mut Value, pool: &[String], path: &mut String) -> String {
    match value {
        Value::Object(members) if !members.is_empty() => {
            let keys: Vec<String> = members.keys().cloned().collect();
            let key = random.one(&keys);
            path.push_str(&format!(".{key}"));
            match random.below(100) {
                0..4 => {
                    members.remove(&key);
                    "left out".to_owned()
                }
                4..7 => {
                    let member = members.remove(&key).unwrap_or(Value::Null);
                    let name = if pool.is_empty() { "x".to_owned() } else { random.one(pool) };
                    members.insert(name.clone(), member);
                    format!("called {name:?}")
                }
                7..10 => replaced(random, members.entry(key).or_insert(Value::Null), pool),
                _ => within(random, members.entry(key).or_insert(Value::Null), pool, path),
            }
        }
        Value::Array(items) if !items.is_empty() => {
            let at = index(random, items.len());
            path.push_str(&format!("[{at}]"));
            match random.below(100) {
                0..6 => {
                    items.remove(at);
                    "left out".to_owned()
                }
                6..12 => {
                    let item = items[at].clone();
                    let times = 1 + random.below(20);
                    (0..times).for_each(|_| items.push(item.clone()));
                    format!("{times} times more")
                }
                _ => within(random, &mut items[at], pool, path),
            }
        }
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => replaced(random, value, pool),
    }
}

/// Another value: of the same kind in most cases, so that it is read.
fn replaced(random: &mut Random, value: &mut Value, pool: &[String]) -> String {
    let is_of_kind = !random.percent(15);
    let text = |random: &mut Random| {
        if pool.is_empty() || random.percent(40) { random.one(&TEXTS).to_owned() } else { random.one(pool) }
    };
    let new = match (&*value, is_of_kind) {
        (Value::Bool(is), true) => json!(!is),
        (Value::Number(_), true) => match random.below(4) {
            0..3 => json!(random.one(&NUMBERS)),
            _ => json!(i64::try_from(random.below(50_000)).unwrap_or(0)),
        },
        (Value::String(_), true) => json!(text(random)),
        (Value::Null | Value::Array(_) | Value::Object(_), _) | (_, false) => match random.below(6) {
            0 => Value::Null,
            1 => json!(random.one(&NUMBERS)),
            2 => json!({}),
            3 => json!([]),
            4 => json!(true),
            _ => json!(text(random)),
        },
    };
    let told = format!("{} became {}", short(value), short(&new));
    *value = new;
    told
}

fn short(value: &Value) -> String {
    value.to_string().chars().take(60).collect()
}
