//! Expressions and what they come to, are refused with, or fail with. What is refused was asked of cel-go.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use crate::convert::from_json;
use crate::{Names, ObjectType, Type, Val, check, evaluate, parse};

fn scope() -> BTreeMap<String, Val> {
    let value = json!({"name": "web", "replicas": 3, "ports": [{"n": 80}, {"n": 443}], "labels": {"a": "b"}, "f": 1.5});
    [("self".to_owned(), from_json(&value))].into_iter().collect()
}

fn come_to(text: &str) -> Result<Val, String> {
    let expression = parse(text).map_err(|faults| faults.to_string())?;
    let names: Names = [("self".to_owned(), Type::Dyn)].into_iter().collect();
    check(text, &expression, &names).map_err(|faults| faults.to_string())?;
    evaluate(&expression, &scope()).map_err(|failure| failure.0)
}

#[test]
fn what_holds_holds() {
    for text in [
        "self.replicas + 1 == 4 && self.name.startsWith('w')",
        "self.ports.all(p, p.n > 0) && self.ports.exists(p, p.n == 443) && self.ports.exists_one(p, p.n == 80)",
        "self.ports.map(p, p.n) == [80, 443] && self.ports.filter(p, p.n > 100).size() == 1",
        "has(self.labels.a) && !has(self.labels.b) && 'a' in self.labels",
        "self.?missing.orValue('x') == 'x' && self.?name.hasValue()",
        "[1, 2, 3].sum() == 6 && [3, 1].min() == 1 && ['a', 'b'].isSorted() && [1, 2].indexOf(2) == 1",
        "quantity('1Gi').isGreaterThan(quantity('512Mi')) && quantity('1').add(quantity('500m')).compareTo(quantity('1500m')) == 0",
        "'a-b-c'.split('-').join('.') == 'a.b.c' && 'abc'.find('b+') == 'b' && 'Ab'.lowerAscii() == 'ab'",
        "ip('10.0.0.1').family() == 4 && cidr('10.0.0.0/8').containsIP('10.1.2.3') && !isIP('10.0.0')",
        "url('https://a.b:80/c?d=e').getHost() == 'a.b:80' && url('https://a.b/c').getEscapedPath() == '/c'",
        "sets.contains([1, 2, 3], [1, 2]) && sets.intersects([1], [1, 2])",
        "duration('1h') > duration('59m') && timestamp('2020-01-01T00:00:00Z').getFullYear() == 2020",
        "timestamp('2020-01-01T01:00:00Z') - timestamp('2020-01-01T00:00:00Z') == duration('3600s')",
        "'%s has %d'.format(['x', 3]) == 'x has 3' && type(1) == int && string(1.5) == '1.5'",
        "cel.bind(x, self.replicas, x * x == 9) && {'a': 1}.all(k, k == 'a')",
        "[1, 2].all(i, v, v == i + 1) && {'a': 1}.transformMap(k, v, v + 1) == {'a': 2}",
        "false && self.nothing || true",
        "self.ports[?5].orValue({'n': 1}).n == 1 && -self.replicas == -3 && 7 % 4 == 3",
        "semver('1.2.3').isLessThan(semver('1.10.0')) && format.dns1123Label().validate('A_').hasValue()",
        "dyn(1) == 1.0 && 1u < 2 && b'a' == bytes('a') && r'\\d' == '\\\\d' && 'a' != \"b\"",
        "optional.of(1).optMap(x, x + 1).value() == 2 && [1, ?optional.none()].size() == 1",
        "math.greatest(1, 3, 2) == 3 && (true ? 1 : 2) == 1",
    ] {
        assert!(matches!(come_to(text), Ok(Val::Bool(true))), "{text}: {:?}", come_to(text));
    }
}

#[test]
fn what_comes_to_nothing_says_why() {
    for (text, why) in [
        ("self.nothing == 1", "no such key: nothing"),
        ("self.ports[7].n == 1", "index out of bounds: 7"),
        ("self.replicas / 0 == 1", "division by zero"),
        ("self.name > 1", "no such overload"),
        ("9223372036854775807 + 1 == 0", "integer overflow"),
    ] {
        assert_eq!(come_to(text).map(|_| ()), Err(why.to_owned()), "{text}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_with_its_place() {
    let fields = [("x".to_owned(), Type::Int), ("s".to_owned(), Type::Text)];
    let object = ObjectType { name: "object".to_owned(), fields: fields.into_iter().collect() };
    let names: Names = [("self".to_owned(), Type::Object(Arc::new(object)))].into_iter().collect();
    for (text, why) in [
        ("self.y == 1", "ERROR: <input>:1:5: undefined field 'y'\n | self.y == 1\n | ....^"),
        (
            "foo == 1",
            "ERROR: <input>:1:1: undeclared reference to 'foo' (in container '')\n | foo == 1\n | ^",
        ),
        (
            "self.x == 'a'",
            "ERROR: <input>:1:8: found no matching overload for '_==_' applied to '(int, string)'\n | self.x == 'a'\n | .......^",
        ),
        (
            "self.s.foo()",
            "ERROR: <input>:1:11: undeclared reference to 'foo' (in container '')\n | self.s.foo()\n | ..........^",
        ),
        (
            "self.s.size(1) == 2",
            "ERROR: <input>:1:12: found no matching overload for 'size' applied to 'string.(int)'\n | self.s.size(1) == 2\n | ...........^",
        ),
    ] {
        let expression = parse(text).expect("it can be read");
        let faults = check(text, &expression, &names).expect_err("it makes no sense");
        assert_eq!(faults.to_string(), why);
    }
    assert!(parse("self.x ==").is_err() && parse("(1").is_err() && parse("'a").is_err());
}

#[test]
fn what_is_too_deep_is_refused() {
    assert!(parse(&"(".repeat(5_000)).is_err());
    assert!(parse(&vec!["1"; 5_000].join(" + ")).is_err());
    assert!(parse(&format!("self{}", ".a".repeat(5_000))).is_err());
    assert!(parse(&vec!["true"; 100].join(" && ")).is_ok());
}
