//! What Elastic Load Balancing answers, read: by an account in memory that counts what it is asked.

use std::sync::Mutex;

use replank_model::object::cloud::{GroupSize, LaunchTemplate};

use super::super::xml;
use super::*;

/// An instance, and its state.
type State = (&'static str, &'static str);
/// A target group's name, its delay in seconds, and its targets.
type Shown<'s> = (&'s str, &'static str, &'s [State]);

/// A region's target groups.
#[derive(Default)]
struct Script {
    /// By ARN: target type, deregistration delay, targets with their states.
    groups: BTreeMap<String, (&'static str, &'static str, Vec<State>)>,
    /// Target groups on a page.
    page: usize,
    /// Calls that are throttled for as long as anybody tries, by action and target group.
    throttled: Option<(&'static str, String)>,
    asked: Mutex<Vec<String>>,
}

fn arn(name: &str) -> String {
    format!("arn:aws:elasticloadbalancing:eu-west-1:111122223333:targetgroup/{name}/73e2d6bc24d8a067")
}

fn refused(code: &str) -> AwsError {
    AwsError::Refused {
        action: "elasticloadbalancing".to_owned(),
        status: 400,
        code: code.to_owned(),
        message: String::new(),
    }
}

impl Script {
    fn of(groups: &[Shown<'_>]) -> Self {
        let groups = groups.iter().map(|(name, delay, all)| (arn(name), ("instance", *delay, all.to_vec())));
        Self { groups: groups.collect(), page: 400, ..Self::default() }
    }

    /// What it was asked since this was called last: calls of an action, and how many there were.
    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut *self.asked.lock().expect("it is free"))
    }

    fn answer(&self, action: &str, params: &Value) -> Result<Value, AwsError> {
        let named = |one: &Value| one.as_str().unwrap_or_default().to_owned();
        let of = TargetGroup::name_of(&Text::from(named(&params["TargetGroupArn"]))).to_owned();
        let all = ["TargetGroupArns", "Names"].iter().flat_map(|member| list(&params[*member]));
        let all: Vec<String> = all.map(named).collect();
        let of = if of.is_empty() {
            let names = all.iter().map(|one| TargetGroup::name_of(&Text::from(one.as_str())).to_owned());
            names.collect::<Vec<_>>().join(",")
        } else {
            of
        };
        self.asked.lock().expect("it is free").push(format!("{action} {of}"));
        if self.throttled.as_ref().is_some_and(|(one, target)| *one == action && *target == of) {
            return Err(refused("ThrottlingException"));
        }
        let own =
            |named: &str| self.groups.get_key_value(named).or_else(|| self.groups.get_key_value(&arn(named)));
        if action == "DescribeTargetGroups" {
            let found: Option<Vec<_>> = all.iter().map(|one| own(one)).collect();
            let found = found.ok_or_else(|| refused("TargetGroupNotFound"))?;
            let from = params["Marker"].as_str().map_or(0, |at| at.parse().expect("our own"));
            let shown: String = found
                .iter()
                .skip(from)
                .take(self.page)
                .map(|(arn, (kind, ..))| {
                    format!(
                        "<member><TargetGroupArn>{arn}</TargetGroupArn><TargetGroupName>{}</TargetGroupName><TargetType>{kind}</TargetType><Port>80</Port></member>",
                        TargetGroup::name_of(&Text::from(arn.as_str()))
                    )
                })
                .collect();
            let more = from + self.page < found.len();
            let next =
                if more { format!("<NextMarker>{}</NextMarker>", from + self.page) } else { String::new() };
            return Ok(result(action, &format!("<TargetGroups>{shown}</TargetGroups>{next}")));
        }
        let asked = named(&params["TargetGroupArn"]);
        let (_, (_, delay, targets)) = own(&asked).ok_or_else(|| refused("TargetGroupNotFound"))?;
        if action == "DescribeTargetGroupAttributes" {
            return Ok(result(
                action,
                &format!(
                    "<Attributes><member><Key>stickiness.enabled</Key><Value>false</Value></member><member><Key>{DELAY}</Key><Value>{delay}</Value></member></Attributes>"
                ),
            ));
        }
        let shown: String = targets
            .iter()
            .map(|(id, state)| {
                let reason =
                    if *state == "unused" { "<Reason>Target.NotInUse</Reason>" } else { "" };
                format!(
                    "<member><Target><Id>{id}</Id><Port>30080</Port></Target><TargetHealth><State>{state}</State>{reason}</TargetHealth></member>"
                )
            })
            .collect();
        Ok(result(action, &format!("<TargetHealthDescriptions>{shown}</TargetHealthDescriptions>")))
    }
}

/// As it comes off the wire.
fn result(action: &str, inner: &str) -> Value {
    let text = format!(
        "<{action}Response xmlns=\"http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/\"><{action}Result>{inner}</{action}Result></{action}Response>"
    );
    xml::read(&text).expect("it is well-formed")[format!("{action}Result")].take()
}

impl Balancing for Script {
    fn elb(&self, action: &'static str, params: Value) -> Pending<'_, Result<Value, AwsError>> {
        Box::pin(async move { self.answer(action, &params) })
    }
}

fn at(script: &Script, names: &[&str], known: Known, now: Instant) -> Result<Known, AwsError> {
    let wanted: BTreeSet<Text> = names.iter().map(|name| Text::from(*name)).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("it can be made");
    runtime.block_on(looked(script, &wanted, known, now))
}

fn look(script: &Script, names: &[&str]) -> Result<Known, AwsError> {
    at(script, names, Known::new(), Instant::now())
}

/// `name(delay): instance=state …`
fn shown(known: &Known) -> Vec<String> {
    let one = |(named, kept): (&Text, &Kept)| {
        let delay = kept.settings.as_ref().map_or("-".to_owned(), |settings| settings.delay.to_string());
        let targets: Vec<String> = kept.targets.iter().map(|(id, health)| format!("{id}={health}")).collect();
        format!("{}({delay}): {}", TargetGroup::name_of(named), targets.join(" "))
    };
    known.iter().map(one).collect()
}

#[test]
fn delays_and_states_are_read_as_they_are_on_the_wire() {
    let script = Script::of(&[
        ("api", "30", &[("i-1", "healthy"), ("i-2", "unhealthy.draining"), ("i-3", "initial")]),
        ("web", "300", &[("i-1", "draining"), ("i-2", "unused"), ("i-3", "unavailable"), ("i-4", "newer")]),
    ]);
    let known = look(&script, &[&arn("api"), &arn("web")]).expect("all is there");
    assert_eq!(
        shown(&known),
        [
            "api(30s): i-1=healthy i-2=unhealthy i-3=initial",
            "web(5m): i-1=draining i-2=unused i-3=unavailable i-4=unavailable"
        ]
    );
    // By the name alone, as a binding may have it: health is asked by the ARN, and known by the name.
    let by_name = look(&script, &["web"]).expect("it is there");
    assert_eq!(by_name.keys().map(|named| &**named).collect::<Vec<_>>(), ["web"]);
    assert_eq!(by_name[&Text::from("web")].targets.len(), 4);
}

#[test]
fn who_is_registered_on_several_ports_is_as_the_worst_of_them() {
    let script = Script::of(&[(
        "web",
        "300",
        &[
            ("i-1", "healthy"),
            ("i-1", "initial"),
            ("i-2", "unhealthy"),
            ("i-2", "healthy"),
            ("i-3", "draining"),
            ("i-3", "healthy"),
        ],
    )]);
    let known = look(&script, &[&arn("web")]).expect("it is there");
    assert_eq!(shown(&known), ["web(5m): i-1=initial i-2=unhealthy i-3=draining"]);
    let not = result(
        "DescribeTargetHealth",
        "<TargetHealthDescriptions><member><Target><Id>i-1</Id></Target><TargetHealth><State>unused</State><Reason>Target.NotRegistered</Reason></TargetHealth></member></TargetHealthDescriptions>",
    );
    assert!(targets(list(&not["TargetHealthDescriptions"])).is_empty());
}

#[test]
fn pages_are_read_to_the_end_within_what_one_call_takes() {
    let names: Vec<String> = (10..55).map(|number| format!("t{number}")).collect();
    let groups: Vec<Shown<'_>> =
        names.iter().map(|name| (&**name, "300", &[("i-1", "healthy")][..])).collect();
    let script = Script { page: 7, ..Script::of(&groups) };
    let arns: Vec<String> = names.iter().map(|name| arn(name)).collect();
    let asked: Vec<&str> = arns.iter().map(String::as_str).collect();
    let known = look(&script, &asked).expect("all is there");
    assert!(known.len() == 45 && known.values().all(|kept| kept.targets.len() == 1), "{:?}", shown(&known));
    let calls = script.asked();
    let of = |action: &str| calls.iter().filter(|call| call.starts_with(&format!("{action} "))).count();
    // 45 in calls of 20, 20 and 5: three pages, three pages, one.
    assert_eq!(of("DescribeTargetGroups"), 7, "{calls:?}");
    assert_eq!((of("DescribeTargetGroupAttributes"), of("DescribeTargetHealth")), (45, 45));
    assert!(calls.iter().all(|call| call.matches(',').count() < NAMES_MAX));
}

#[test]
fn throttled_half_way_is_not_known_at_all() {
    let two = || Script::of(&[("api", "30", &[("i-1", "healthy")]), ("web", "300", &[("i-1", "healthy")])]);
    for (action, of) in [
        ("DescribeTargetGroups", "api,web"),
        ("DescribeTargetGroupAttributes", "web"),
        ("DescribeTargetHealth", "web"),
    ] {
        let script = Script { throttled: Some((action, of.to_owned())), ..two() };
        let error = look(&script, &[&arn("api"), &arn("web")]).expect_err("half of it is not all of it");
        assert!(error.is_throttled(), "{action}: {error}");
    }
    // Before, everything was known: the old is not taken for the new.
    let now = Instant::now();
    let known = at(&two(), &[&arn("api"), &arn("web")], Known::new(), now).expect("all is there");
    let script = Script { throttled: Some(("DescribeTargetHealth", "web".to_owned())), ..two() };
    let later = at(&script, &[&arn("api"), &arn("web")], known, now + HEALTH_LASTS);
    assert!(later.is_err());
}

#[test]
fn target_groups_that_are_gone_or_have_other_targets_are_left_out() {
    let mut script = Script::of(&[("api", "30", &[("i-1", "healthy")]), ("ips", "30", &[])]);
    script.groups.get_mut(&arn("ips")).expect("it is there").0 = "ip";
    let known = look(&script, &[&arn("api"), &arn("gone"), &arn("ips")]).expect("one is left");
    assert_eq!(shown(&known), ["api(30s): i-1=healthy", "gone(-): ", "ips(-): "]);
    let calls = script.asked();
    assert!(!calls.iter().any(|call| call.starts_with("DescribeTargetHealth ips")), "{calls:?}");
    let size = GroupSize { min: 0, max: 3, desired: 3 };
    let mut group = NodeGroup::new("web".into(), size, Vec::new(), LaunchTemplate::default());
    group.target_groups = ["api", "gone", "ips"].map(|name| TargetGroup::attached(arn(name))).to_vec();
    settle(&mut group, &known);
    let left: Vec<(&str, Span)> = group
        .target_groups
        .iter()
        .map(|one| (TargetGroup::name_of(&one.arn), one.deregistration_delay))
        .collect();
    assert_eq!(left, [("api", Span::from_secs(30))]);
}

#[test]
fn health_is_asked_every_few_seconds_and_the_rest_once_a_minute() {
    let mut script = Script::of(&[("web", "300", &[("i-1", "initial")])]);
    let (names, begun) = ([&*arn("web")], Instant::now());
    let known = at(&script, &names, Known::new(), begun).expect("it is there");
    assert_eq!(script.asked().len(), 3);
    script.groups.get_mut(&arn("web")).expect("it is there").2 = vec![("i-1", "healthy")];
    let soon = at(&script, &names, known, begun + Duration::from_millis(500)).expect("it is there");
    assert_eq!((script.asked(), &*shown(&soon)[0]), (Vec::new(), "web(5m): i-1=initial"));
    let later = at(&script, &names, soon, begun + Duration::from_secs(5)).expect("it is there");
    assert_eq!(script.asked(), ["DescribeTargetHealth web"]);
    assert_eq!(shown(&later), ["web(5m): i-1=healthy"]);
    script.groups.get_mut(&arn("web")).expect("it is there").1 = "20";
    let late = at(&script, &names, later, begun + Duration::from_secs(61)).expect("it is there");
    assert_eq!(shown(&late), ["web(20s): i-1=healthy"]);
    script.asked();
    // One that is not wanted any more is forgotten, and without any nobody is asked.
    let none = at(&script, &[], late, begun + Duration::from_secs(62)).expect("nothing is asked");
    assert!(none.is_empty() && script.asked().is_empty());
}

#[test]
fn those_of_other_accounts_and_regions_are_not_asked_for() {
    let own = |named: &str| is_within(named, "111122223333", "eu-west-1");
    assert!(own(&arn("web")) && own("web"));
    assert!(!own("arn:aws:elasticloadbalancing:eu-west-1:444455556666:targetgroup/web/1"));
    assert!(!own("arn:aws:elasticloadbalancing:us-east-1:111122223333:targetgroup/web/1"));
}

#[test]
fn what_is_attached_now_counts_and_what_a_controller_keeps_stays() {
    let size = GroupSize { min: 0, max: 3, desired: 3 };
    let mut base = NodeGroup::new("web".into(), size, Vec::new(), LaunchTemplate::default());
    let bound = TargetGroup { registrar: Registrar::Controller, ..TargetGroup::attached(arn("bound")) };
    base.target_groups = vec![bound, TargetGroup::attached(arn("before"))];
    let group = json!({"TargetGroupARNs": [arn("now"), arn("bound")], "TrafficSources": [
        {"Identifier": arn("now"), "Type": "elbv2"}, {"Identifier": arn("source"), "Type": "elbv2"}, {"Identifier": "classic", "Type": "elb"},
        {"Identifier": "arn:aws:vpc-lattice:eu-west-1:111122223333:targetgroup/tg-1", "Type": "vpc-lattice"}]});
    let found = target_groups(&base, &group);
    let found: Vec<(&str, Registrar)> =
        found.iter().map(|one| (TargetGroup::name_of(&one.arn), one.registrar)).collect();
    assert_eq!(
        found,
        [
            ("bound", Registrar::Controller),
            ("now", Registrar::AutoScaling),
            ("source", Registrar::AutoScaling)
        ]
    );
}

/// An account that answers another thing, or never the last page.
struct Other(fn(&str) -> Value);

impl Balancing for Other {
    fn elb(&self, action: &'static str, _: Value) -> Pending<'_, Result<Value, AwsError>> {
        Box::pin(async move { Ok((self.0)(action)) })
    }
}

fn looks(balancing: &impl Balancing) -> Result<Known, AwsError> {
    let wanted = [Text::from(arn("web"))].into();
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("it can be made");
    runtime.block_on(looked(balancing, &wanted, Known::new(), Instant::now()))
}

#[test]
fn an_answer_of_another_form_takes_no_target_away() {
    let groups = |_: &str| json!({"TargetGroups": "text"});
    let health = |action: &str| {
        let script = Script::of(&[("web", "30", &[("i-1", "healthy")])]);
        let params = json!({"TargetGroupArns": [arn("web")], "TargetGroupArn": arn("web")});
        match action {
            "DescribeTargetHealth" => json!({"TargetHealthDescriptions": {"Error": "x"}}),
            _ => script.answer(action, &params).expect("it is there"),
        }
    };
    for (other, action, member) in [
        (Other(groups), "DescribeTargetGroups", "TargetGroups"),
        (Other(health), "DescribeTargetHealth", "TargetHealthDescriptions"),
    ] {
        let error = looks(&other).expect_err("it is no answer").to_string();
        let expected =
            format!("elasticloadbalancing:{action}: the answer cannot be read: {member} is no list");
        assert_eq!(error, expected);
    }
}

#[test]
fn target_groups_whose_pages_do_not_end_are_an_error() {
    let error = looks(&Other(|_| json!({"TargetGroups": null, "NextMarker": "more"})));
    assert_eq!(
        error.expect_err("it does not end").to_string(),
        "elasticloadbalancing:DescribeTargetGroups: the answer cannot be read: it does not end after 1000 pages"
    );
}
