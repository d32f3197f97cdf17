//! CSV parses back to what was put in.

use super::sample;
use proptest::prelude::*;
use tunesmith_report::render;

/// A reader by the grammar of RFC 4180, section 2: CRLF ends a record, quotes inside quotes are doubled.
fn parse(text: &str) -> Vec<Vec<String>> {
    let (mut records, mut record, mut field) = (Vec::new(), Vec::new(), String::new());
    let mut quoted = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (quoted, c) {
            (true, '"') if chars.peek() == Some(&'"') => {
                chars.next();
                field.push('"');
            }
            (true, '"') => quoted = false,
            (true, c) => field.push(c),
            (false, '"') => {
                assert!(field.is_empty(), "a quote inside an unquoted field");
                quoted = true;
            }
            (false, ',') => record.push(std::mem::take(&mut field)),
            (false, '\r') => {
                assert_eq!(chars.next(), Some('\n'), "a carriage return that ends no record");
                record.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut record));
            }
            (false, '\n') => panic!("a bare line feed"),
            (false, c) => field.push(c),
        }
    }
    assert!(!quoted && record.is_empty() && field.is_empty(), "an unfinished record");
    records
}

#[test]
fn every_trial_is_a_record_and_every_knob_a_column() {
    let study = sample::improved();
    let records = parse(&render::csv(&study));
    assert_eq!(records.len(), study.trials.len() + 1);
    let column = |name: &str| records[0].iter().position(|c| c == name).unwrap();
    for record in &records {
        assert_eq!(record.len(), records[0].len());
    }
    assert_eq!(records[1][column("innodb_buffer_pool_size")], "", "the baseline sets nothing");
    assert_eq!(records[4][column("innodb_buffer_pool_size")], "2147483648");
    assert_eq!(records[4][column("objective")], "701.3");
}

#[test]
fn a_study_without_trials_has_its_header() {
    assert_eq!(parse(&render::csv(&sample::empty())).len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_parses_back(origin in any::<String>(), failure in any::<String>(), knob in "\\PC+", value in any::<String>(), quotes in "[\",\r\n a]{0,12}") {
        let mut study = sample::interrupted();
        for trial in &mut study.trials {
            trial.origin = format!("{origin}{quotes}");
            trial.failure = Some(format!("{quotes}{failure}"));
            trial.configuration = [(knob.clone(), value.clone().into())].into();
        }
        let records = parse(&render::csv(&study));
        prop_assert_eq!(records.len(), study.trials.len() + 1);
        prop_assert_eq!(records[0].last().unwrap(), &knob);
        for (record, trial) in records[1..].iter().zip(&study.trials) {
            prop_assert_eq!(&record[1], &trial.origin);
            prop_assert_eq!(&record[14], trial.failure.as_ref().unwrap());
            prop_assert_eq!(record.last().unwrap(), &value);
        }
    }
}
