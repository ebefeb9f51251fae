use replank_model::time::Span;
use replank_rehearse::{Ending, RehearsalResult, Stop, Verdict};

use super::sample::{besides, blocked, passing, with_findings};
use super::*;

fn shown(result: &RehearsalResult, width: usize, color: Color, timeline: Timeline) -> String {
    let about =
        About { plan: "web-to-1-36", snapshot: "cluster.json", stop: Stop::Ended, timeline, spread: None };
    text(result, &about, Look { width, color })
}

#[test]
fn findings_at_80_columns() {
    insta::assert_snapshot!(shown(&with_findings(), 80, Color::None, Timeline::Shown));
}

#[test]
fn findings_at_120_columns() {
    insta::assert_snapshot!(shown(&with_findings(), 120, Color::None, Timeline::Shown));
}

#[test]
fn findings_in_colour_at_80_columns() {
    let text = shown(&with_findings(), 80, Color::Ansi, Timeline::Shown);
    insta::assert_snapshot!(text.replace('\u{1b}', "␛"));
}

#[test]
fn findings_in_colour_at_120_columns() {
    let text = shown(&with_findings(), 120, Color::Ansi, Timeline::Shown);
    insta::assert_snapshot!(text.replace('\u{1b}', "␛"));
}

#[test]
fn a_pass() {
    insta::assert_snapshot!(shown(&passing(), 80, Color::None, Timeline::Left));
}

#[test]
fn a_block() {
    insta::assert_snapshot!(shown(&blocked(), 80, Color::None, Timeline::Left));
}

#[test]
fn an_interruption() {
    let about = About {
        plan: "web-to-1-36",
        snapshot: "cluster.json",
        stop: Stop::Interrupted,
        timeline: Timeline::Left,
        spread: None,
    };
    let text = text(&blocked(), &about, Look { width: 80, color: Color::None });
    let verdict = text.find("Verdict").expect("every report has a verdict");
    insta::assert_snapshot!(text[verdict..].to_owned());
}

#[test]
fn what_happened_besides_and_what_clients_lose() {
    let text = shown(&besides(), 100, Color::None, Timeline::Left);
    for section in [
        "Connections  lost at most, under the given load\n  \
         shop/frontend  50/s of 20s  NLB to pods  8,750 refused, 1,000 cut\n  \
         shop/redis  180/h of 1h  within the cluster  3 refused, 180 cut, no pod for 41s\n  \
         shop/cart  2.5/s of 200ms  within the cluster  none\n",
        "Elasticity  autoscalers under the load for 3h\n  \
         shop/cart  Deployment cart, 4 to 12 replicas\n  \
         replicas    4 to 12, 9 at the end; 18.4 needed at most, more than its maximum; at least 4 ready\n  \
         over target load never above target and tolerance\n  \
         pending     no pod for longer than a second\n  \
         shop/frontend  Deployment frontend, 4 to 24 replicas\n  \
         replicas    4 to 24, 9 at the end; 18.4 needed at most; at least 4 ready\n  \
         over target 4m15s (2.4%), 143% at most\n  \
         pending     up to 3 pods at once, for 2m7s; the longest waited 1m25s\n",
        "Interruptions  1 spot, 1 retired\n  3 pods lost, 1 of batch work\n",
        "Other events  2 lines of the script\n  \
         10m       somebody cordons ip-10-0-1-99.ec2.internal\n  \
         2h30m     pause: had no effect, the run had finished\n",
    ] {
        assert!(text.contains(section), "{section}\n{text}");
    }
}

#[test]
fn many_seeds() {
    let second = RehearsalResult { seed: 2, verdict: Verdict::Passes, ..passing() };
    let results = [with_findings(), second, RehearsalResult { seed: 3, ..blocked() }];
    let runs: Vec<Run> = results.iter().map(Run::of).collect();
    let mut tally = Tally::default();
    results.iter().for_each(|result| tally.add(result));
    let summary = tally.summary();
    assert_eq!(summary.verdict, Verdict::Blocked);
    let look = Look { width: 100, color: Color::None };
    insta::assert_snapshot!(seeds(&runs, &summary, Rows::Worst, look));
    let results: Vec<RehearsalResult> = (1..=1_200)
        .map(|seed| {
            let virtual_duration = Span::from_secs(i64::try_from(seed % 100).expect("small") * 60);
            let verdict = if seed == 206 || seed == 407 { Verdict::Blocked } else { Verdict::Passes };
            RehearsalResult { seed, virtual_duration, verdict, ..passing() }
        })
        .collect();
    let runs: Vec<Run> = results.iter().map(Run::of).collect();
    let mut tally = Tally::default();
    results.iter().for_each(|result| tally.add(result));
    let text = seeds(&runs, &tally.summary(), Rows::Worst, look);
    assert!(text.starts_with("Rehearsals  1,200 seeds, of which these 20 are the worst\n"), "{text}");
    let first: Vec<Vec<&str>> =
        text.lines().skip(2).take(3).map(|line| line.split_whitespace().take(2).collect()).collect();
    assert_eq!(first, [["407", "blocked"], ["206", "blocked"], ["99", "passes"]], "{text}");
    assert!(text.contains("and 1,180 more: --all-seeds lists them"), "{text}");
    assert!(text.contains("90 % at most 1h29m, 95 % at most 1h34m, 99 % at most 1h38m"), "{text}");
    assert!(text.contains("that of seed 407. Show it with --seed 407."), "{text}");
    assert_eq!(seeds(&runs, &tally.summary(), Rows::All, look).matches("  passes  ").count(), 1_198);
}

#[test]
fn of_rehearsals_that_left_nodes_the_one_that_replaced_the_fewest_is_the_worst() {
    let run = |seed, verdict, replaced, killed| {
        let mut result = RehearsalResult { seed, verdict, ..passing() };
        result.virtual_duration = Span::from_minutes(i64::try_from(seed).expect("small"));
        result.nodes.replaced = replaced;
        result.batch.killed = killed;
        result
    };
    let summary = |results: &[RehearsalResult]| {
        let mut tally = Tally::default();
        results.iter().for_each(|result| tally.add(result));
        tally.summary()
    };
    for verdict in [Verdict::Partial, Verdict::Blocked] {
        let results = [run(1, verdict, 5, 0), run(2, verdict, 5, 1), run(3, verdict, 11, 2)];
        let summary = summary(&results);
        assert_eq!(summary.worst_seed, Some(2), "{verdict:?}");
        let nodes = summary.nodes_replaced;
        assert_eq!((nodes.min, nodes.median, nodes.max), (5, 5, 11));
        // Pods of a Job tell it in a line each.
        let mut merged = Tally::default();
        let told = |result: &RehearsalResult| Run::of(result).row().run(result.seed);
        merged.merge(&results.iter().map(told).collect::<Vec<Run>>(), 0, Vec::new());
        assert_eq!((merged.summary().worst_seed, merged.summary().nodes_replaced), (Some(2), nodes));
    }
    let done = summary(&[run(1, Verdict::Findings, 5, 0), run(2, Verdict::Findings, 11, 1)]);
    assert_eq!(done.worst_seed, Some(2), "each replaced what it was to replace");
}

#[test]
fn a_few_nodes_are_told_in_words() {
    let told = |replaced, total, verdict| {
        let mut result = passing();
        (result.nodes.replaced, result.nodes.total, result.verdict) = (replaced, total, verdict);
        result.rollback = None;
        let text = shown(&result, 120, Color::None, Timeline::Left);
        text.lines()
            .skip_while(|line| !line.starts_with("Verdict"))
            .nth(1)
            .expect("a sentence")
            .trim()
            .to_owned()
    };
    assert_eq!(told(1, 1, Verdict::Passes), "The node was replaced in 2h; nothing was found.");
    assert_eq!(told(2, 2, Verdict::Passes), "Both nodes were replaced in 2h; nothing was found.");
    assert_eq!(
        told(5_000, 5_000, Verdict::Passes),
        "All 5,000 nodes were replaced in 2h; nothing was found."
    );
    assert_eq!(told(0, 1, Verdict::Blocked), "The node was not replaced in 2h. Blocked by:");
    assert_eq!(told(1, 3, Verdict::Partial), "1 of 3 nodes was replaced in 2h; 2 are blocked by:");
    assert_eq!(told(0, 1, Verdict::Findings), "The node was skipped after 2h; 0 findings to look at.");
}

#[test]
fn what_leads_to_a_list_in_the_text_is_a_sentence_where_none_follows() {
    let about = About { plan: "p", snapshot: "s", stop: Stop::Ended, timeline: Timeline::Left, spread: None };
    let mut back = blocked();
    back.ending = Ending::RolledBack;
    back.rollback = with_findings().rollback;
    let (word, sentence, _) = in_words(&back, &about);
    assert_eq!(word, "blocked");
    assert!(
        sentence.starts_with("Rolled back: after 2h every node group has as many nodes as before the roll"),
        "{sentence}"
    );
    assert!(sentence.ends_with("ami-0old).") && !sentence.contains("Blocked by"), "{sentence}");
    let text = shown(&back, 160, Color::None, Timeline::Left);
    assert!(text.contains("Blocked by:"), "{text}");
}

#[test]
fn colour_changes_nothing_but_escape_codes() {
    for width in [60, 80, 120, 160] {
        for result in [with_findings(), passing(), blocked(), besides()] {
            let plain = shown(&result, width, Color::None, Timeline::Shown);
            let ansi = shown(&result, width, Color::Ansi, Timeline::Shown);
            assert_eq!(without_escapes(&ansi), plain);
        }
    }
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in [60, 80, 120, 160] {
        for result in [with_findings(), passing(), blocked(), besides()] {
            let text = shown(&result, width, Color::None, Timeline::Shown);
            // What is to be pasted is never broken.
            for line in text.lines().filter(|line| !line.trim().starts_with("kubectl ")) {
                assert!(line.chars().count() <= width, "{width} columns: {line:?}");
            }
        }
    }
}

fn without_escapes(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((head, tail)) = rest.split_once('\u{1b}') {
        plain.push_str(head);
        rest = tail.split_once('m').map_or("", |(_, tail)| tail);
    }
    plain + rest
}

#[test]
fn what_is_left_of_a_partial_roll_is_grouped_with_its_finding() {
    let mut partial = blocked();
    partial.verdict = Verdict::Partial;
    partial.nodes.replaced = 26;
    partial.nodes.total = 28;
    let report = shown(&partial, 160, Color::None, Timeline::Left);
    assert!(
        report.contains("26 of 28 nodes were replaced in") && report.contains("2 are blocked by:"),
        "{report}"
    );
    assert!(
        report.contains("- node web-1: disruption budget shop/redis: 1 healthy, 1 needed (1 pod)"),
        "{report}"
    );
    partial.require_all();
    assert_eq!(partial.verdict, Verdict::Blocked);
}
