//! Connections that would be lost.

use super::common::{PLAN, SNAPSHOT, replank, scratch};

#[test]
fn a_load_is_counted_and_reported() {
    let load = scratch("load.txt", "# people who search\nsite/search-api=20/s,2s\n");
    let arguments = ["rehearse", "--connections", &load, "--connections", "site/web=50/s,20s,nlb-ip"];
    let told = replank(&[&arguments[..], &["-o", "json"]].concat()).json();
    let of = |at: usize| &told["connections"][at];
    assert_eq!(of(0)["name"], "search-api");
    assert_eq!((&of(1)["name"], &of(1)["path"]), (&"web".into(), &"NLB to pods".into()));
    // An NLB sends on for three minutes, and no pod of this site takes that long.
    assert!(of(1)["pods"].as_u64() > Some(0) && of(1)["refused"].as_u64() > Some(1_000), "{}", of(1));
    let report = replank(&arguments).stdout;
    assert!(report.contains("Connections  lost at most"), "{report}");
    assert!(report.contains("site/web  50/s of 20s  NLB to pods  "), "{report}");
}

#[test]
fn a_load_that_is_wrong_or_on_nothing_is_told() {
    let told = |load: &str| replank(&["rehearse", SNAPSHOT, "-f", PLAN, "--connections", load]).usage_error();
    let form = told("site/web=50,20s");
    assert!(form.contains("the rate must be a number with /s, /m or /h"), "{form}");
    let nobody = told("site/wbe=50/s,20s");
    assert!(nobody.contains("no workload site/wbe has a pod in the snapshot"), "{nobody}");
    let file = told("no-such-load.txt");
    assert!(
        file.contains("no-such-load.txt is neither NAMESPACE/NAME=RATE,LENGTH nor a readable file"),
        "{file}"
    );
}
