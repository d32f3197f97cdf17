//! Each test is named after what is right; most hold a case where the rule speaks and its silent twin.

mod complaints;
mod defects;

use super::RULES;
use std::collections::BTreeSet;

#[test]
fn rules_have_names_of_their_own_and_silence_only_each_other() {
    let names: BTreeSet<&str> = RULES.iter().map(|rule| rule.id).collect();
    assert_eq!(names.len(), RULES.len());
    for rule in RULES {
        assert!(rule.looks_at.len() > 5, "{}", rule.id);
        assert!(rule.suppresses.iter().all(|other| names.contains(other)), "{}", rule.id);
    }
}

#[test]
fn every_rule_is_in_the_documentation() {
    let text = include_str!("../../../../../docs/advisor.md");
    for rule in RULES {
        assert!(text.contains(&format!("`{}`", rule.id)), "docs/advisor.md does not mention {}", rule.id);
    }
}
