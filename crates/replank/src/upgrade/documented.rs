//! docs/upgrade.md against the program.

use replank_advice::upgrade::finding::Rule;

const PAGE: &str = include_str!("../../../../docs/upgrade.md");

#[test]
fn every_finding_is_documented() {
    let (_, section) = PAGE.split_once("### Findings\n").expect("the page has the section");
    let section = section.split_once("\n### ").map_or(section, |(section, _)| section);
    let rows: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
    let expected: Vec<String> =
        Rule::ALL.iter().map(|rule| format!("| `{}` | {} |", rule.id(), rule.title())).collect();
    assert_eq!(rows, expected, "docs/upgrade.md differs from the program");
}
